// tests/bench/smpi_all_reduce.c — What SimGrid's SMPI simulates for the table: so many all-reduces of 1 KiB.
// It has no globals, so that ranks need no privatisation.
#include <mpi.h>
#include <stdlib.h>

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    const int steps = argc > 1 ? atoi(argv[1]) : 10;
    int rank = 0, size = 0, wrong = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    float in[256], out[256];
    for (int i = 0; i < 256; ++i) in[i] = (float)rank;
    for (int step = 0; step < steps; ++step) {
        MPI_Allreduce(in, out, 256, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
        wrong |= out[0] != (float)size * (float)(size - 1) / 2;
    }
    MPI_Finalize();
    return wrong;
}
