# Shared by the commands. Plain sh: what a call needs is cut out of JSON with sed.
fail() { printf '{"status":"error","error":"%s"}\n' "$1" >&2; exit 1; }
field() { sed -n 's/.*"'"$1"'":"\([^"]*\)".*/\1/p'; }
split() { scope=${1%%/*} name=${1#*/}; [ -n "$scope" ] && [ "$scope" != "$1" ] || fail "want SCOPE/NAME, not '$1'"; }
call() { curl -fsS -X "$1" "$url$2" ${3:+-d "$3"} || fail "$1 ${2%%\?*} failed"; }
