# .ci/prepare.sh — Prepares a bare Debian 12 machine: packages, and a torch for real processes.
# Sourced by ./dev. Both steps check first, and take milliseconds when there is nothing to do.

# Prints the packages of the list that this machine lacks.
missing_packages() {
  local wanted have
  wanted=$(sed -e 's/#.*//' -e 's/[[:space:]]*$//' -e '/^$/d' "$ROOT/.ci/packages.txt" | sort -u)
  # shellcheck disable=SC2086
  have=$(dpkg-query -W -f='${db:Status-Abbrev} ${Package}\n' $wanted 2>/dev/null |
    sed -n 's/^ii *//p' | sort -u)
  comm -23 <(echo "$wanted") <(echo "$have")
}

apt_retrying() {
  local attempt
  for attempt in 1 2 3 4 5 6; do
    $SUDO env DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=300 \
      -o Acquire::Retries=3 "$@" && return 0
    echo "apt-get $1 failed on try $attempt; trying again in 10 s"
    sleep 10
  done
  return 1
}

# Packages with a daemon start it on installation. We want their tools, not their services.
install_without_services() {
  local policy=/usr/sbin/policy-rc.d made=no code=0
  if [ ! -e $policy ]; then
    printf '#!/bin/sh\nexit 101\n' | $SUDO tee $policy >/dev/null && $SUDO chmod 755 $policy && made=yes
  fi
  apt_retrying install -y --no-install-recommends "$@" || code=$?
  [ $made = yes ] && $SUDO rm -f $policy
  return $code
}

prepare_packages() {
  if ! command -v dpkg-query >/dev/null; then
    say "This is no Debian system: have the packages of .ci/packages.txt ready under your system's names."
    return 0
  fi
  local missing
  missing=$(missing_packages)
  [ -z "$missing" ] && return 0
  SUDO=
  if [ "$(id -u)" != 0 ]; then
    command -v sudo >/dev/null ||
      die "Neither root nor sudo is at hand to install these packages; do it first:" $missing
    SUDO=sudo
  fi
  phase "packages: $(echo "$missing" | wc -l) to install" install_packages $missing
  missing=$(missing_packages)
  [ -z "$missing" ] || die "apt-get finished, yet these packages are still missing:" $missing
}

install_packages() { apt_retrying update && install_without_services "$@"; }

# Called with sudo in a checkout of the user's: root installs packages, and the user does the rest, so that nothing in
# the checkout or the cache belongs to root.
give_up_root() {
  [ "$(id -u)" = 0 ] && [ "${SUDO_UID:-0}" != 0 ] || return 0
  case ${1:-help} in help | -h | --help | clean) ;; *)
    say_what_is_missing
    prepare_packages
    has_cuda_libraries || dpkg-query -W python3-torch >/dev/null 2>&1 || [ "${DEADRANK_TORCH:-}" = none ] ||
      phase_may_fail "torch: Debian's python3-torch" install_packages python3-torch python3-numpy || true
    [ ! -d "$BUILD" ] || chown "$SUDO_UID:$SUDO_GID" "$BUILD" && chown -R "$SUDO_UID:$SUDO_GID" "$LOGS"
    ;;
  esac
  exec setpriv --reuid="$SUDO_UID" --regid="$SUDO_GID" --init-groups env HOME="$(getent passwd "$SUDO_UID" |
    cut -d: -f6)" USER="${SUDO_USER:-}" LOGNAME="${SUDO_USER:-}" "$ROOT/dev" "$@"
}

# say_what_is_missing [deadrank | all] [torch]: what a first call fetches and builds, and how long it takes. Nothing if
# all is there. Sizes are of a bare Debian 12; 1500 and 1900 are the compiler's seconds on one core (tests/README.md).
say_what_is_missing() {
  local target lines=() missing=0 seconds=0
  command -v dpkg-query >/dev/null && missing=$(missing_packages | grep -c . || true)
  [ "$missing" = 0 ] || lines+=("install $missing Debian packages (260 MB for all of them): 1 to 3 min")
  for target; do
    case $target in
      deadrank) [ -x "$BUILD/deadrank" ] || seconds=1500 ;;
      all) [ -x "$BUILD/tests/deadrank_tests" ] || seconds=1900 ;;
      torch)
        [ -e "$VENV/.deadrank" ] || [ "${DEADRANK_TORCH:-}" = none ] || if has_cuda_libraries; then
          lines+=("fetch torch (1.7 GB on disk): 1 to 3 min")
        else
          lines+=("fetch Debian's torch (150 MB): 1 min")
        fi
        ;;
    esac
  done
  [ $seconds = 0 ] || lines+=("compile on $JOBS processors: about $(((seconds / JOBS + 59) / 60)) min")
  [ ${#lines[@]} = 0 ] || printf '%s\n' "Once, and not again:" "${lines[@]/#/  }"
}

# torch: the recent wheel if CUDA's user-space libraries are on this machine, else Debian's python3-torch.
CACHE=${XDG_CACHE_HOME:-$HOME/.cache}/deadrank
VENV=$CACHE/venv
TORCH_LISTS=("$ROOT/runners/backends/local/requirements.txt" "$ROOT/runners/backends/local/constraints.txt")

torch_works() {
  [ -x "$VENV/bin/python" ] && "$VENV/bin/python" -c '
import sys, torch, numpy, torch.distributed as d
assert d.is_gloo_available(), "this torch was built without gloo"
print(torch.__version__.split("+")[0])' 2>/dev/null
}

# libc's own cache knows whether the libraries that the wheel was linked against can be found.
has_cuda_libraries() {
  local libraries name
  libraries=$(/sbin/ldconfig -p 2>/dev/null)
  for name in libcudart.so.13 libcudnn.so.9 libnccl.so.2 libcublas.so.13; do
    case $libraries in *"$name "*) ;; *) return 1 ;; esac
  done
}

# pip_locked PYTHON install|download LOCK [OPTION …]: the packages of .ci/locks/LOCK.txt, or of a file; one whose hash is
# another is refused. .ci/lock.py writes the locks.
pip_locked() {
  local python=$1 verb=$2 lock=$3
  shift 3
  [ -e "$lock" ] || lock=$ROOT/.ci/locks/$lock.txt
  "$python" -m pip "$verb" --quiet --no-cache-dir --no-deps --require-hashes "$@" -r "$lock"
}

build_wheel_environment() {
  rm -rf "$VENV" && python_for_venv -m venv "$VENV" && pip_locked "$VENV/bin/python" install torch
}

build_debian_environment() {
  SUDO=$([ "$(id -u)" = 0 ] || echo sudo)
  dpkg-query -W python3-torch >/dev/null 2>&1 || install_packages python3-torch python3-numpy || return 1
  rm -rf "$VENV" && /usr/bin/python3 -m venv --system-site-packages "$VENV"
}

python_for_venv() { if [ -x /usr/bin/python3 ]; then /usr/bin/python3 "$@"; else python3 "$@"; fi; }

# DEADRANK_TORCH=wheel, debian or none chooses; otherwise it depends on the machine.
prepare_torch() {
  mkdir -p "$CACHE" || die "Cannot write $CACHE; set XDG_CACHE_HOME to a directory that you may write."
  local stamp=$VENV/.deadrank choice=${DEADRANK_TORCH:-} recipe version=
  TORCH="none"
  [ "$choice" = none ] && return 0
  [ -n "$choice" ] || { has_cuda_libraries && choice=wheel || choice=debian; }
  recipe="$choice $(cat "${TORCH_LISTS[@]}" | cksum)"  # new lists, new environment
  exec 9>"$CACHE/lock" && flock 9  # two checkouts may prepare at once
  if [ "$(head -n 1 "$stamp" 2>/dev/null)" != "$recipe" ] || [ ! -x "$VENV/bin/python" ]; then
    if [ -e "$stamp" ] || ! version=$(torch_works); then
      if [ $choice = wheel ] && ! phase_may_fail "torch: the recent wheel" build_wheel_environment; then
        choice=debian
      fi
      [ $choice = wheel ] || phase_may_fail "torch: Debian's python3-torch" build_debian_environment || true
      version=$(torch_works) || version=
    fi
    if [ -n "$version" ]; then printf '%s\n%s\n' "$recipe" "$version" >"$stamp"; fi
  else
    version=$(sed -n 2p "$stamp")
  fi
  flock -u 9 && exec 9>&-
  if [ -n "$version" ]; then
    export DEADRANK_PYTHON=$VENV/bin/python
    case $version in
      1.*) TORCH="torch $version, Debian's python3-torch (no CUDA 13 libraries on this machine)" ;;
      *) TORCH="torch $version, the recent wheel (CUDA's user-space libraries are present)" ;;
    esac
  else
    TORCH="no torch could be installed: the real-process scenarios will say unknown (log: $LOGS)"
  fi
}

# A newer torch, for the tests of inject/standin: only its files, placed before the first torch in the same
# Python. It is linked to a NCCL that this machine may lack, so it only loads with the drop-in.
NEWER_TORCH=2.15.0

install_newer_torch() {
  local scratch code=0
  scratch=$(mktemp -d "$CACHE/torch-XXXXXX") || return 1
  pip_locked "$VENV/bin/python" install newer_torch --no-compile --target "$scratch/files" &&
    mv -T "$scratch/files" "$CACHE/torch-$NEWER_TORCH" || code=1
  rm -rf "$scratch"
  return $code
}

# Needs prepare_torch. Skipped if the first torch is Debian's old one, which has another Python.
prepare_newer_torch() {
  case $(sed -n 2p "$VENV/.deadrank" 2>/dev/null) in 2.*) ;; *) return 0 ;; esac
  exec 9>"$CACHE/lock" && flock 9
  [ -e "$CACHE/torch-$NEWER_TORCH" ] || phase_may_fail "torch $NEWER_TORCH beside it" install_newer_torch ||
    say "  It could not be had; the tests that load it are skipped (log: $LOGS)"
  flock -u 9 && exec 9>&-
}

# DeepSpeed, Megatron-core, Accelerate, Transformers, Lightning and Colossal-AI, in torch's environment: subjects run where it runs.
FRAMEWORKS_LIST=$ROOT/runners/backends/local/requirements-frameworks.txt

install_frameworks() {
  local lock=$ROOT/.ci/locks/frameworks.txt last=(-e '^deepspeed' -e '^colossalai')
  pip_locked "$VENV/bin/python" install <(grep -v "${last[@]}" "$lock") &&
    BUILD_EXT=0 DS_BUILD_OPS=0 DS_ACCELERATOR=cpu \
      pip_locked "$VENV/bin/python" install <(grep "${last[@]}" "$lock") --no-build-isolation
}

# Needs prepare_torch. Skipped if torch is Debian's old one: they could not be imported.
prepare_frameworks() {
  local stamp=$VENV/.frameworks recipe
  FRAMEWORKS="none: they need the recent torch"
  case $(sed -n 2p "$VENV/.deadrank" 2>/dev/null) in 2.*) ;; *) return 0 ;; esac
  recipe=$(cksum <"$FRAMEWORKS_LIST")
  exec 9>"$CACHE/lock" && flock 9
  if [ "$(cat "$stamp" 2>/dev/null)" != "$recipe" ]; then
    phase_may_fail "frameworks: DeepSpeed, Megatron-core, Lightning, …" install_frameworks &&
      printf '%s\n' "$recipe" >"$stamp"
  fi
  flock -u 9 && exec 9>&-
  FRAMEWORKS="none could be installed: their scenarios are skipped (log: $LOGS)"
  [ ! -e "$stamp" ] ||
    FRAMEWORKS=$(grep -E '^(deepspeed|megatron|colossalai|accelerate|transformers|lightning)[a-z-]*==' "$FRAMEWORKS_LIST" |
      grep -v utilities | tr '\n' ' ')
}

# Other people's detection tools, in an environment of their own: what they need must not touch our torch.
TOOLS=${DEADRANK_TOOLS:-$CACHE/tools}
TOOLS_RECIPE="gpucm==0.0.2 traincheck-lint==0.1.0 nvidia-resiliency-ext==0.7.0"

build_tools_environment() {
  rm -rf "$TOOLS" && python_for_venv -m venv "$TOOLS" && pip_locked "$TOOLS/bin/python" install tools &&
    install_resiliency_extension
}

# Its wheel requires Python 3.12 only for one compiled module; what we start is plain Python.
install_resiliency_extension() {
  local place wheels
  wheels=$(mktemp -d) || return 1
  place=$("$TOOLS/bin/python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
  pip_locked "$TOOLS/bin/python" download resiliency_extension --only-binary=:all: --python-version 3.12 \
    --platform manylinux_2_39_x86_64 -d "$wheels" &&
    "$TOOLS/bin/python" -m zipfile -e "$wheels"/*.whl "$place"
  local code=$?
  rm -rf "$wheels"
  return $code
}

prepare_tools() {
  local stamp=$TOOLS/.deadrank
  mkdir -p "$CACHE" && exec 9>"$CACHE/lock" && flock 9
  if [ "$(cat "$stamp" 2>/dev/null)" != "$TOOLS_RECIPE" ]; then
    phase_may_fail "tools: gpucm, traincheck-lint, NVIDIA's resiliency extension" build_tools_environment &&
      printf '%s\n' "$TOOLS_RECIPE" >"$stamp"
  fi
  flock -u 9 && exec 9>&-
  [ -e "$stamp" ] || say "  The tools could not be installed; what needs them is skipped (log: $LOGS)"
}

# Programs of others that read what deadrank writes and serves: MCP, OpenTelemetry, pre-commit, schemas of CI files.
CLIENTS=$CACHE/clients
CLIENTS_RECIPE="mcp==2.3.0 opentelemetry-proto==1.45.2 pre-commit==4.7.0 check-jsonschema==0.39.0"

build_clients_environment() {
  rm -rf "$CLIENTS" && python_for_venv -m venv "$CLIENTS" && pip_locked "$CLIENTS/bin/python" install clients
}

prepare_clients() {
  local stamp=$CLIENTS/.deadrank
  mkdir -p "$CACHE" && exec 9>"$CACHE/lock" && flock 9
  if [ "$(cat "$stamp" 2>/dev/null)" != "$CLIENTS_RECIPE" ]; then
    phase_may_fail "clients: MCP, OpenTelemetry, pre-commit" build_clients_environment &&
      printf '%s\n' "$CLIENTS_RECIPE" >"$stamp"
  fi
  flock -u 9 && exec 9>&-
  [ -e "$stamp" ] || say "  They could not be installed; the tests that need them are skipped (log: $LOGS)"
}

# NCCL in another version than CUDA's packages bring, for the tests of inject/shims: one library of a wheel.
NCCL_OF_WHEEL=2.21.5

fetch_nccl() {
  local place=$CACHE/nccl/$NCCL_OF_WHEEL scratch code=0
  scratch=$(mktemp -d "$CACHE/nccl-XXXXXX") || return 1
  pip_locked "$TOOLS/bin/python" download nccl --only-binary=:all: -d "$scratch" &&
    "$TOOLS/bin/python" -m zipfile -e "$scratch"/*.whl "$scratch" && mkdir -p "$place" &&
    mv "$scratch/nvidia/nccl/lib/libnccl.so.2" "$place/" || code=1
  rm -rf "$scratch"
  return $code
}

prepare_nccl() {
  mkdir -p "$CACHE" && exec 9>"$CACHE/lock" && flock 9
  [ -e "$CACHE/nccl/$NCCL_OF_WHEEL/libnccl.so.2" ] ||
    phase_may_fail "NCCL $NCCL_OF_WHEEL out of its wheel" fetch_nccl ||
    say "  The wheel could not be had; the tests that load it are skipped (log: $LOGS)"
  flock -u 9 && exec 9>&-
}
