#!/bin/sh
# Make the environment that everything runs in, or bring it up to date; do nothing when it is. `make book`, `make test`
# and the rest call this first. Settings, all optional, given as `make book NAME=value`:
#   PYTHON       the Python to use (3.11 or newer)           VENV      where the environment is made (.venv)
#   TORCH_ARGS   how to get PyTorch: the options that its own install page prints, from --index-url on
#   CONSTRAINTS  the file with the exact versions (constraints.txt); /dev/null lets pip choose
#   NEED_GB      how much free disk space to insist on (3)
set -eu
cd "$(dirname "$0")/.."
venv=${VENV:-.venv}
constraints=${CONSTRAINTS:-constraints.txt}
need_gb=${NEED_GB:-3}
torch_args=${TORCH_ARGS:-}
stamp="$venv/transformer-lab.stamp"
log="$venv/setup.log"
export PIP_USER=0 PIP_DISABLE_PIP_VERSION_CHECK=1 PYTHONNOUSERSITE=1
unset PYTHONPATH PYTHONHOME || true

stop() {
    { echo; echo "$*" | fold -s -w 100; echo; } >&2
    exit 1
}

# What the environment depends on: a digest of contents, since a checkout changes the times of all files.
wanted() {
    pwd
    cat pyproject.toml requirements.txt "$constraints" | cksum
}

is_new_enough() { "$1" -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1; }
can_make_one() { is_new_enough "$1" && "$1" -c 'import ensurepip, venv' >/dev/null 2>&1; }

find_python() {
    old="" bare=""
    if [ -n "${PYTHON:-}" ]; then set -- "$PYTHON"; else set -- python3.11 python3.12 python3.13 python3 python; fi
    for candidate in "$@"; do
        command -v "$candidate" >/dev/null 2>&1 || continue
        if can_make_one "$candidate"; then
            echo "$candidate"
            return
        elif is_new_enough "$candidate"; then
            bare=$candidate
        else
            version=$("$candidate" -c 'import sys; print("%d.%d" % sys.version_info[:2])' 2>/dev/null) || continue
            old="$candidate is $version"
        fi
    done
    if [ -n "$bare" ]; then
        stop "$bare cannot make environments: its venv module is missing, as it is on Debian and Ubuntu until it is" \
            "installed. Run: sudo apt-get install python3-venv (or ${bare##*/}-venv), then try again."
    fi
    stop "Transformer Lab needs Python 3.11 or newer, and none was found${PYTHON:+ at $PYTHON}${old:+ ($old)}. Install" \
        "one: sudo apt-get install python3 python3-venv (Debian 12, Ubuntu 24.04 or newer), sudo dnf install python3.12" \
        "(Fedora), brew install python@3.12 (macOS), or the installer from python.org. If you have one in an unusual" \
        "place, name it: make book PYTHON=/path/to/python3.12"
}

check_disk() {
    # For a path that does not exist yet, its nearest folder that does.
    place=$venv
    while [ ! -d "$place" ]; do place=$(dirname "$place"); done
    free_kb=$(df -Pk "$place" | awk 'NR == 2 { print $(NF - 2) }')
    if [ "$free_kb" -lt $((need_gb * 1024 * 1024)) ]; then
        stop "Not enough disk space: the environment needs about $need_gb GB (PyTorch is most of it), and" \
            "$((free_kb / 1024)) MB are free at $place. Make room, or put it on another disk: make book VENV=/elsewhere/venv" \
            "(on Linux, PyTorch's default build brings CUDA and needs 7 GB; TORCH_ARGS can name the smaller CPU build," \
            "see Set-up in the book)."
    fi
}

# Run pip with everything it says in the log; if it fails, show the end of the log and say what that means.
pip() {
    "$venv/bin/python" -m pip install "$@" >>"$log" 2>&1 && return
    tail -n 12 "$log" >&2
    if grep -qi "no space left" "$log"; then
        stop "The disk is full. Make room at $venv and in the folder for temporary files (${TMPDIR:-/tmp}; TMPDIR=/elsewhere" \
            "names another), then run the same command again: it goes on where it stopped."
    elif grep -qE "(NewConnection|Proxy|SSL|ConnectTimeout|ReadTimeout)Error|Failed to establish|name resolution|Max retries|Connection (refused|reset|aborted|broken)|timed out|unreachable|nodename nor servname" "$log"; then
        stop "Packages could not be downloaded. The first run needs the network; after it nothing does. Check the" \
            "connection, and a proxy (HTTPS_PROXY) or a mirror (PIP_INDEX_URL) if you need one, then run the same command" \
            "again: it goes on where it stopped. The whole story is in $log."
    elif grep -qiE "ResolutionImpossible|No matching distribution|conflicting dependencies" "$log"; then
        stop "The exact versions in $constraints do not all exist for $("$venv/bin/python" --version 2>&1) on this machine." \
            "They are tested on Python 3.11: name such a Python (remove $venv, then make book PYTHON=python3.11), or let" \
            "pip choose the versions: make book CONSTRAINTS=/dev/null. The whole story is in $log."
    fi
    stop "pip could not install the packages. Its last words are above, the whole story is in $log."
}

[ -f requirements.txt ] && [ -f "$constraints" ] || [ "$constraints" = /dev/null ] || stop "$constraints is missing."
if [ -e "$venv" ] && ! "$venv/bin/python" -c 'import pip' >/dev/null 2>&1; then
    if [ -e "$venv/pyvenv.cfg" ]; then
        echo "The environment $venv no longer works (its Python was moved or removed): making it anew."
        rm -rf "$venv"
    else
        stop "$venv is there but is not a Python environment. Remove it, or name another place: make book VENV=/elsewhere/venv"
    fi
fi
old_torch_args=$(sed -n 's/^torch: //p' "$stamp" 2>/dev/null || true)
if [ -f "$stamp" ] && [ "$(sed '/^torch: /d' "$stamp")" = "$(wanted)" ]; then
    [ -z "$torch_args" ] || [ "$torch_args" = "$old_torch_args" ] || rm -f "$stamp"
else
    rm -f "$stamp"
fi
[ ! -f "$stamp" ] || exit 0

if [ ! -e "$venv" ]; then
    python=$(find_python)
    check_disk
    echo "Making the environment $venv with $("$python" --version 2>&1)."
    "$python" -m venv "$venv" || stop "$python could not make an environment at $venv; the reason is above."
elif ! is_new_enough "$venv/bin/python"; then
    stop "$venv holds $("$venv/bin/python" --version 2>&1), and 3.11 or newer is needed. Remove $venv and run the same" \
        "command again, or name another place: make book VENV=/elsewhere/venv"
fi
: >"$log"

# PyTorch first and exactly: left to itself, pip may take another release or another build.
pin=$(sed -n 's/^torch==//p' "$constraints")
have=$("$venv/bin/python" -c 'import torch; print(torch.__version__.split("+")[0])' 2>/dev/null || true)
if [ -z "$have" ]; then check_disk; fi
if [ -n "$torch_args" ] && [ "$torch_args" != "$old_torch_args" ]; then
    echo "Installing PyTorch $pin with $torch_args. This is the largest part."
    # shellcheck disable=SC2086  # several options in one variable; what PyTorch itself needs comes with the next step
    pip --force-reinstall --no-deps $torch_args "torch${pin:+==$pin}"
elif [ -z "$have" ] || [ "${pin:-$have}" != "$have" ]; then
    echo "Installing PyTorch $pin. This is the largest part: minutes on a slow line."
    pip -c "$constraints" "torch${pin:+==$pin}"
fi
echo "Installing the package and the tools."
pip -c "$constraints" -e ".[dev]"

# The first import of matplotlib makes a list of fonts and may complain of it on stderr, which would fail a chapter.
"$venv/bin/python" - >>"$log" 2>&1 <<'PREPARE' || stop "The packages are installed but do not work; the reason is in $log."
import os, sys
sys.path.insert(0, "tools")
import book
os.environ.update(book.clean_environment())
import matplotlib.font_manager, torch, transformer_lab
PREPARE
{ wanted; echo "torch: ${torch_args:-$old_torch_args}"; } >"$stamp"
echo "The environment is ready."
