// tests/programs/shims/mpi_stranger.c — An MPI program as anybody writes one: it makes the calls that its
// words name and prints what it got. It knows of no faults.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { elements = 4, room = 64 };

static int rank, size;
static double *give, *get;

static void say(const char *word, int code) {
    char line[256];
    int length = snprintf(line, sizeof line, "rank %d %s %d:", rank, word, code);
    for (int i = 0; i < elements; ++i) length += snprintf(line + length, sizeof line - length, " %g", get[i]);
    line[length++] = '\n';
    if (write(1, line, length) != length) exit(3);
}

static int both_ways(MPI_Comm comm) {
    MPI_Request requests[2];
    const int other = size - 1 - rank;
    MPI_Irecv(get, elements, MPI_DOUBLE, other, 5, comm, &requests[0]);
    MPI_Isend(give, elements, MPI_DOUBLE, other, 5, comm, &requests[1]);
    return MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
}

static int call(const char *word, MPI_Comm comm) {
    const int n = elements, other = size - 1 - rank;
    const MPI_Datatype type = MPI_DOUBLE;
    const int counts[2] = {2, 2};
    if (!strcmp(word, "barrier")) return MPI_Barrier(comm);
    if (!strcmp(word, "bcast")) {
        memcpy(get, give, n * sizeof *get);
        return MPI_Bcast(get, n, type, 0, comm);
    }
    if (!strcmp(word, "reduce")) return MPI_Reduce(give, get, n, type, MPI_SUM, 0, comm);
    if (!strcmp(word, "allreduce")) return MPI_Allreduce(give, get, n, type, MPI_SUM, comm);
    if (!strcmp(word, "inplace")) {
        memcpy(get, give, n * sizeof *get);
        return MPI_Allreduce(MPI_IN_PLACE, get, n, type, MPI_SUM, comm);
    }
    if (!strcmp(word, "allgather")) return MPI_Allgather(give, n / 2, type, get, n / 2, type, comm);
    if (!strcmp(word, "gather")) return MPI_Gather(give, n / 2, type, get, n / 2, type, 0, comm);
    if (!strcmp(word, "scatter")) return MPI_Scatter(give, n / 2, type, get, n / 2, type, 0, comm);
    if (!strcmp(word, "alltoall")) return MPI_Alltoall(give, n / 2, type, get, n / 2, type, comm);
    if (!strcmp(word, "reducescatter")) return MPI_Reduce_scatter(give, get, counts, type, MPI_SUM, comm);
    if (!strcmp(word, "block")) return MPI_Reduce_scatter_block(give, get, n / 2, type, MPI_SUM, comm);
    if (!strcmp(word, "sendrecv"))
        return MPI_Sendrecv(give, n, type, other, 3, get, n, type, other, 3, comm, MPI_STATUS_IGNORE);
    if (!strcmp(word, "send") && rank) return MPI_Send(give, n, type, 0, 4, comm);
    if (!strcmp(word, "send")) return MPI_Recv(get, n, type, 1, 4, comm, MPI_STATUS_IGNORE);
    if (!strcmp(word, "bothways")) return both_ways(comm);
    fprintf(stderr, "no call %s\n", word);
    return -1;
}

static double per_call(int calls) {
    const double begin = MPI_Wtime();
    for (int i = 0; i < calls; ++i) MPI_Allreduce(give, get, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    return (MPI_Wtime() - begin) * 1e9 / calls;
}

int main(int argc, char **argv) {
    MPI_Comm comm = MPI_COMM_WORLD;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    give = malloc(room * sizeof *give);
    get = calloc(room, sizeof *get);
    for (int i = 0; i < room; ++i) give[i] = 10 * rank + i;
    for (int i = 1; i < argc; ++i) {
        if (!strcmp(argv[i], "return")) {
            MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
        } else if (!strcmp(argv[i], "split")) {
            MPI_Comm_split(MPI_COMM_WORLD, 0, rank, &comm);
        } else if (!strcmp(argv[i], "apart")) {
            MPI_Comm_split(MPI_COMM_WORLD, rank, rank, &comm);
        } else if (!strcmp(argv[i], "dup")) {
            MPI_Comm_dup(MPI_COMM_WORLD, &comm);
        } else if (!strcmp(argv[i], "free")) {
            MPI_Comm_free(&comm);
            comm = MPI_COMM_WORLD;
        } else if (!strcmp(argv[i], "time")) {
            printf("%f\n", per_call(atoi(argv[++i])));
        } else {
            for (int k = 0; k < room; ++k) get[k] = -1;
            const int code = call(argv[i], comm);
            say(argv[i], code);
            give[0] += 100; /* so that one call is told from the next */
        }
    }
    MPI_Finalize();
    return 0;
}
