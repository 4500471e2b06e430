# shellcheck shell=bash
# For the set-up scripts: one line a step, and what the tools print goes into a log that is named when a step fails.

setup_log=${SETUP_LOG:-$(pwd)/build/setup.log}

say() { printf 'setup: %s\n' "$*" >&2; }

# step "what it does" command arguments...
step() {
    local what=$1 status=0 started=$SECONDS
    shift
    mkdir -p "$(dirname "$setup_log")"
    say "$what …"
    printf '\n== %s\n$ %s\n' "$what" "$*" >>"$setup_log"
    "$@" >>"$setup_log" 2>&1 </dev/null || status=$?
    if ((status)); then
        say "failed after $((SECONDS - started)) s: $what"
        tail -n 15 "$setup_log" | sed 's/^/    /' >&2
        say "All that was printed is in $setup_log"
    fi
    return "$status"
}

# A package of Debian's, by root. Old package lists name files that are gone, so a second try fetches them first.
install_debian() {
    command -v apt-get >/dev/null && [[ $EUID -eq 0 ]] || return 1
    export DEBIAN_FRONTEND=noninteractive
    local apt=(apt-get install --yes --no-install-recommends "$1")
    mkdir -p "$(dirname "$setup_log")"
    say "installing Debian's $1 …"
    "${apt[@]}" >>"$setup_log" 2>&1 </dev/null ||
        { step "fetching Debian's package lists" apt-get update && step "installing Debian's $1" "${apt[@]}"; }
}
