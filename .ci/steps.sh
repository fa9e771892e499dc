# .ci/steps.sh — Building, testing, linting: the longer commands of ./dev, which sources this file.
# Every test command ends with one plain line of counts; a skipped test never counts as passed.

# configure PRESET DIRECTORY [-D…]: does nothing if the same was asked before; ninja handles the rest.
configure() {
  local preset=$1 directory=$2 asked="$*"
  shift 2
  [ -e "$directory/build.ninja" ] && [ "$(cat "$directory/.asked" 2>/dev/null)" = "$asked" ] && return 0
  phase "configure ${directory#"$ROOT"/}" cmake --preset "$preset" -B "$directory" "$@"
  printf '%s' "$asked" >"$directory/.asked"
}

compile() {
  local directory=$1
  shift
  if [ -t 1 ]; then
    say "${DIM}  compile ${directory#"$ROOT"/}${PLAIN}"
    NINJA_STATUS="  [%f/%t] " ninja -C "$directory" -j "$JOBS" --quiet "$@" ||
      die "the step 'compile ${directory#"$ROOT"/}' failed; the compiler's words are above"
  else
    phase "compile ${directory#"$ROOT"/}" ninja -C "$directory" -j "$JOBS" "$@"
  fi
}

has_target() { ninja -C "$BUILD" -t query "$1" >/dev/null 2>&1; }

# Builds the product: what users get and tests test. In CI, warnings are errors; other flags are the same.
build_product() {
  configure product "$BUILD" -DDEADRANK_WERROR="${WERROR:-OFF}"
  compile "$BUILD" "$@"
}

test_command() {
  local quick=no only='' sanitize='' watched='' builds=no ci=no frameworks=no promises=no releases=no
  local directory=$BUILD
  while [ $# -gt 0 ]; do
    case $1 in
      --quick) quick=yes ;;
      --frameworks) frameworks=yes ;;
      --promises) promises=yes ;;
      --releases) releases=yes ;;
      --ci) ci=yes builds=yes watched=address WERROR=ON ;;
      --builds) builds=only ;;
      --only) only=${2:-} && shift && [ -n "$only" ] || die "--only needs a regular expression" ;;
      --sanitize) sanitize=${2:-none} && shift ;;
      *) die "'$1' is none of --quick, --only, --frameworks, --promises, --releases, --sanitize, --builds" \
        "and --ci" ;;
    esac
    [ $# = 0 ] || shift
  done
  case $sanitize in '' | address | undefined | thread) ;;
    *) die "--sanitize knows address, undefined and thread, not '$sanitize'" ;;
  esac

  say_what_tests_need "$quick" "$only" "$ci"
  prepare_packages
  prepare_torch
  [ $ci = no ] || beside fetch_all
  RESULTS=$BUILD/test-results
  rm -rf "$RESULTS" && mkdir -p "$RESULTS"
  if [ -n "$sanitize" ] && [ $builds = no ]; then
    directory=$BUILD/$sanitize
    configure "$sanitize" "$directory"
    compile "$directory"
  else
    build_product
  fi
  [ $ci = no ] || await_what_is_fetched
  [ $ci$frameworks = nono ] || prepare_frameworks
  if [ $promises = yes ]; then keep_promises
  elif [ $builds != only ]; then
    local label labels="fast slow device"
    [ $quick = yes ] && labels=fast
    for label in $labels; do
      [ $ci$label != yesdevice ] || is_late 1800 || beside compile_builds "$watched"
      if [ $ci$label = yesdevice ]; then run_in_shares "$directory" "$label"
      else run_tests "$directory" "$label" "$only"
      fi
    done
    [ -z "${besides[compile_builds]:-}" ] || await compile_builds "the rest of what was compiled meanwhile"
  fi
  [ $frameworks = no ] || stand_frameworks
  [ $frameworks = no ] || simulate_frameworks
  [ $releases = no ] || play_releases
  [ $builds = no ] || compare_builds "${sanitize:-$watched}"
  [ $builds = no ] || compile_files_alone
  /usr/bin/env python3 "$ROOT/.ci/tally.py" "$RESULTS" --seconds "$(since "$started")"
}

# Downloads what tests use while the compiler has the processors.
fetch_all() {
  prepare_frameworks && prepare_tools && prepare_clients && prepare_nccl && prepare_newer_torch
}
# Repeats the steps in this shell: what is there costs nothing, and what failed gets a second chance.
await_what_is_fetched() {
  await fetch_all "the rest of what was fetched meanwhile"
  cat "$LOGS/fetch_all.log"
  fetch_all
}

# Says what a first call fetches, how long the tests take, and what is skipped without `./dev tools`.
say_what_tests_need() {
  local quick=$1 only=$2 ci=$3
  say_what_is_missing all torch
  [ -n "$only" ] || [ $ci = yes ] ||
    say "Tests on two processors: fast ones 1 min$([ $quick = yes ] || echo ", slow ones 2 min, device tests 40 min")"
  [ $quick$ci = nono ] && [ -z "$only" ] && [ ! -e "$TOOLS/.deadrank" ] || return 0
  say "${DIM}  Skipped until './dev tools' and './dev tools --frameworks' are run: other people's" \
    "detectors and frameworks.${PLAIN}"
}

# run_tests BUILD LABEL REGEX [SHARE NUMBERS]: the outcome is read from the JUnit files at the end, so that one failing
# label does not hide the next.
run_tests() {
  local directory=$1 label=$2 only=$3 share=${4:-} numbers=${5:-} code=0 file=$RESULTS/$2${4:+-$4}.xml
  phase_may_fail "$label tests${share:+, share $share of 3}" ctest --test-dir "$directory" -L "^$label\$" \
    ${only:+-R "$only"} ${numbers:+-I "0,0,0,$numbers"} -j "$JOBS" --no-tests=ignore --output-junit "$file" || code=$?
  # At once, in case the end is not reached.
  [ $code = 0 ] || sed -n '/The following tests FAILED/,/^Errors/{/^\t/p}' "$log"
  [ $code = 0 ] || [ -e "$file" ] || die "ctest could not run the $label tests at all: $(tail -n 2 "$log")"
}

# CI has a limit of time, so a label that mostly waits is played in three shares, each day another one first. No share
# begins after 40 minutes; its tests are counted as skipped.
run_in_shares() {
  local directory=$1 label=$2 share numbers
  for share in 1 2 3; do
    if [ $share != 1 ] && is_late 2400; then
      python3 "$ROOT/.ci/shares.py" "$directory" "$label" $((share - 1)) 3 --skip "$RESULTS/$label-$share.xml"
    else
      numbers=$(python3 "$ROOT/.ci/shares.py" "$directory" "$label" $((share - 1)) 3)
      run_tests "$directory" "$label" '' $share "$numbers"
    fi
  done
}

# Every framework under every bug of the resilience table, judged by runners/backends/local/reactions.toml.
stand_frameworks() {
  phase_may_fail "frameworks under injected faults" python3 "$ROOT/.ci/frameworks.py" "$BUILD/deadrank" \
    --table "$RESULTS/resilience.md" --junit "$RESULTS/frameworks.xml" || true
  [ -e "$RESULTS/frameworks.xml" ] || die "the frameworks could not be played at all: $(tail -n 2 "$log")"
}

# Programs of frameworks on the simulated cluster: healthy, under faults, and twenty times the same. It takes long.
simulate_frameworks() {
  phase_may_fail "frameworks on the simulated cluster" python3 "$ROOT/.ci/managed_frameworks.py" \
    --deadrank "$BUILD/deadrank" --python "$VENV/bin/python" --lines "$RESULTS/managed_frameworks.jsonl" \
    --table "$RESULTS/managed_frameworks.md" --junit "$RESULTS/managed_frameworks.xml" || true
  [ -e "$RESULTS/managed_frameworks.xml" ] || die "no program could be played at all: $(tail -n 2 "$log")"
}

# Every promise of every fault-tolerant framework, judged by runners/promises/known.toml. It takes long.
keep_promises() {
  phase_may_fail "promises of frameworks under faults" python3 "$ROOT/.ci/promises.py" "$BUILD/deadrank" \
    --lines "$RESULTS/promises.jsonl" --junit "$RESULTS/promises.xml" --table "$RESULTS/promises.md" \
    --html "$RESULTS/promises.html" --healthy 10 --runs 3 || true
  [ -e "$RESULTS/promises.xml" ] || die "the promises could not be played at all: $(tail -n 2 "$log")"
  grep '^not played' "$log" || true
}

# Every bug of a published release. A bug that no detector noticed is only noted in the table; a bug that was
# not seen to happen is a failure.
play_releases() {
  phase_may_fail "bugs of published releases" python3 "$ROOT/.ci/releases.py" "$BUILD/deadrank" \
    --out "$RESULTS/releases" --junit "$RESULTS/releases.xml" || true
  [ -e "$RESULTS/releases.xml" ] || die "the releases could not be played at all: $(tail -n 2 "$log")"
}

# One plan is one run, whatever the compiler: all builds give the same trace hashes, and one build does so
# twice. With --sanitize, and in CI, also a sanitizer build; any report of it is a failure.
compare_builds() {
  local build sanitize=$1 reference=$RESULTS/hashes-product.txt
  play_catalogue product "$BUILD/deadrank"
  play_catalogue product-again "$BUILD/deadrank"
  builds_of "$sanitize" build_variant
  for build in product-again gcc-O0 clang-O2 clang-O0 ${sanitize:+"gcc-$sanitize"}; do
    [ -e "$RESULTS/hashes-$build.txt" ] || continue
    python3 "$ROOT/.ci/tally.py" --compare "$reference" "$RESULTS/hashes-$build.txt" \
      --junit "$RESULTS/builds-$build.xml" --name "Builds.${build}GivesTheHashesOfTheProduct" || true
  done
}

# builds_of SANITIZE COMMAND: calls the command with name, compiler and options of each build. In CI the day draws one.
builds_of() {
  local sanitize=$1 command=$2 drawn=all
  [ $ci = no ] || drawn=$(($(date +%s) / 86400 % 4))
  case $drawn in all | 0) "$command" gcc-O0 g++ -DCMAKE_BUILD_TYPE=Debug -DCMAKE_CXX_FLAGS_DEBUG="-O0 -g1" ;; esac
  case $drawn in all | 1) "$command" clang-O2 clang++ -DCMAKE_BUILD_TYPE=RelWithDebInfo ;; esac
  case $drawn in all | 2) "$command" clang-O0 clang++ -DCMAKE_BUILD_TYPE=Debug -DCMAKE_CXX_FLAGS_DEBUG="-O0 -g0" ;; esac
  [ -z "$sanitize" ] || case $drawn in all | 3) "$command" "gcc-$sanitize" g++ -DDEADRANK_SANITIZE="$sanitize" ;; esac
}

# Device tests mostly wait. The other builds get the processors while no test wants them; what they have not
# finished, or could not, is done and told later.
compile_builds() {
  chrt --all-tasks --idle --pid 0 $BASHPID || renice -n 19 $BASHPID
  builds_of "$1" compile_variant
}

# The product compiles files in batches, where one file may live on the includes of another. Here each is a
# unit of its own, as in the preset dev: 12 drawn by the day in CI, all of them with --builds.
compile_files_alone() {
  local directory=$BUILD/alone-files status=run objects
  if too_late_for_more; then
    left_out files-alone FilesCompileAlone
    return
  fi
  configure dev "$directory" -DDEADRANK_TESTS=ON -DCMAKE_CXX_COMPILER=clang++ -DCMAKE_BUILD_TYPE=Debug \
    -DCMAKE_CXX_FLAGS_DEBUG="-O0 -g0"
  mapfile -t objects < <(ninja -C "$directory" -t targets all | sed -n 's/\(\.cpp\.o\): .*/\1/p' | sort)
  [ ${#objects[@]} -gt 0 ] || die "the build ${directory#"$ROOT"/} has no object files"
  [ $ci = no ] || mapfile -t objects < <(printf '%s\n' "${objects[@]}" | python3 -c '
import datetime, random, sys
print("".join(random.Random(str(datetime.date.today())).sample(sys.stdin.readlines(), 12)), end="")')
  phase_may_fail "${#objects[@]} files compiled alone" \
    ninja -C "$directory" -j "$JOBS" -k 0 "${objects[@]}" || status=fail
  [ $status = run ] || grep -E 'error:|^FAILED' "$log" || true
  printf '<testsuite><testcase name="Builds.FilesCompileAlone" status="%s"><system-out>%s</system-out>' \
    "$status" "./dev test --builds compiles all of them" >"$RESULTS/builds-files-alone.xml"
  printf '</testcase></testsuite>\n' >>"$RESULTS/builds-files-alone.xml"
}

# is_late SECONDS: so much time has passed since the start.
is_late() {
  local passed
  passed=$(since "$started")
  [ "${passed%.*}" -gt "$1" ]
}

# In CI, once 40 minutes have passed, what is not built yet is left out and counted as skipped. A machine that took 30
# minutes to come to the device tests has them alone.
too_late_for_more() { [ $ci = yes ] && is_late 2400; }
# left_out NAME TEST
left_out() {
  printf '<testsuite><testcase name="Builds.%s" status="disabled"><system-out>: Skipped\n%s</system-out>' \
    "$2" "40 minutes were over: ./dev test --builds" > "$RESULTS/builds-$1.xml"
  printf '</testcase></testsuite>\n' >> "$RESULTS/builds-$1.xml"
}

build_variant() {
  local name=$1 compiler=$2
  shift 2
  if too_late_for_more && [ ! -x "$BUILD/$name/tests/deadrank_hashes" ]; then
    left_out "$name" "$name"
    return
  fi
  compile_variant "$name" "$compiler" "$@"
  hash_catalogue "$name" "$BUILD/$name/tests/deadrank_hashes"
}

compile_variant() {
  local name=$1 compiler=$2
  shift 2
  configure dev "$BUILD/$name" -DDEADRANK_TESTS=ON -DCMAKE_UNITY_BUILD=ON -DCMAKE_UNITY_BUILD_BATCH_SIZE=12 \
    -DCMAKE_CXX_COMPILER="$compiler" "$@"
  compile "$BUILD/$name" deadrank_hashes
}

# Exit code 1 is a verdict, which the catalogue test judges; here only the hashes count.
play_catalogue() {
  local name=$1 program=$2
  phase_may_fail "catalogue by $name" "$program" run --runner sim --json --jobs "$JOBS" \
    --out "$BUILD/runs/$name" || true
  cp "$log" "$RESULTS/hashes-$name.txt"
}

hash_catalogue() {
  local name=$1 program=$2
  phase_may_fail "catalogue by $name" env UBSAN_OPTIONS=print_stacktrace=1 \
    "$program" "$ROOT/scenarios" || true
  cp "$log" "$RESULTS/hashes-$name.txt"
}

# The C++ files for lint and format: those changed in or since the last commit, or all.
cpp_files() {
  if [ "${1:-}" = --all ]; then git ls-files -co --exclude-standard -- '*.h' '*.cpp' '*.cu'
  else { git diff --name-only --diff-filter=d HEAD~1 -- '*.h' '*.cpp' '*.cu' 2>/dev/null || true
         git ls-files -o --exclude-standard -- '*.h' '*.cpp' '*.cu'; } | sort -u; fi
}

lint_command() {
  local files sources
  prepare_packages
  mapfile -t files < <(cpp_files "$@")
  if [ ${#files[@]} = 0 ]; then
    say "No C++ file changed since the last commit; ./dev lint --all looks at every one."
    return 0
  fi
  build_product
  phase "layout of ${#files[@]} files" clang-format --dry-run -Werror "${files[@]}"
  mapfile -t sources < <(printf '%s\n' "${files[@]}" | grep '\.cpp$' || true)
  [ ${#sources[@]} = 0 ] || phase "clang-tidy on ${#sources[@]} files" tidy_sources "${sources[@]}"
  phase "include arrows and habits" ctest --test-dir "$BUILD" -R '^Tidy' --output-on-failure --no-tests=error
}

tidy_sources() {
  printf '%s\n' "$@" | xargs -P "$JOBS" -n 1 clang-tidy --quiet -p "$BUILD" --warnings-as-errors='*'
}

format_command() {
  local files
  prepare_packages
  mapfile -t files < <(cpp_files "$@")
  [ ${#files[@]} = 0 ] || phase "write the layout of ${#files[@]} files" clang-format -i "${files[@]}"
}
