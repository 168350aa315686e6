#!/usr/bin/env bash
# The path of a newcomer, in a fresh Debian 12 with nothing but a clone: README's two commands, then the tutorial word for word.
# Needs root and debootstrap, and takes as long as tests/run.sh with a cold compiler cache; continuous integration does not run it.
#
#   tests/build/newcomer.sh CHROOT             installs Debian 12 in the folder CHROOT if it does not exist, then runs all steps
#   tests/build/newcomer.sh --quick CHROOT     without tests/run.sh
#   tests/build/newcomer.sh --tutorial CHROOT  only the tutorial, in a chroot where quickstart has run
#
# The clone is that of the last commit of this checkout, in /home/newcomer/whywait of the chroot, made anew each time. Packages
# are installed by root; quickstart and tests run as root, the tutorial as a user without privileges. DEBIAN_MIRROR: another
# mirror. Output of each step goes to CHROOT/home/newcomer/STEP.log as well. Ends with the first step that fails.
set -euo pipefail
here="$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)"

steps=(quickstart tests tutorial)
case "${1-}" in
  --quick) steps=(quickstart tutorial) && shift ;;
  --tutorial) steps=(tutorial) && shift ;;
esac
[ $# -eq 1 ] || { sed -n '2,/^set /s/^#\( \|$\)//p' "$0" >&2 && exit 2; }
[ "$(id -u)" -eq 0 ] || { echo "newcomer: chroot needs root" >&2 && exit 2; }
root="$1"

if [ ! -e "$root/etc/debian_version" ]; then
  command -v debootstrap >/dev/null || { echo "newcomer: no debootstrap: apt-get install debootstrap" >&2 && exit 2; }
  began=$SECONDS
  debootstrap --variant=minbase bookworm "$root" ${DEBIAN_MIRROR+"$DEBIAN_MIRROR"} >"$root.log" 2>&1 ||
    { tail -n 20 "$root.log" >&2 && echo "newcomer: debootstrap failed" >&2 && exit 1; }
  echo "newcomer: Debian 12 installed in $((SECONDS - began)) s"
fi
root="$(cd "$root" && pwd)"
[ "$root" != / ] || { echo "newcomer: / is no chroot" >&2 && exit 2; }
grep -q ^12 "$root/etc/debian_version" || { echo "newcomer: $root is not Debian 12" >&2 && exit 2; }

# What a machine with a network has: names, proxies and certificates of this one.
printf '127.0.0.1 localhost %s\n' "$(hostname)" >"$root/etc/hosts"
cp -L /etc/resolv.conf "$root/etc/resolv.conf"
for file in /etc/apt/apt.conf /etc/apt/apt.conf.d/*proxy*; do
  [ ! -f "$file" ] || cp "$file" "$root/etc/apt/apt.conf.d/"
done
mounted=()
leave() {
  for ((i = ${#mounted[@]} - 1; i >= 0; --i)); do umount -l "${mounted[i]}" || true; done
}
trap leave EXIT
for place in proc sys dev dev/pts dev/shm; do
  mkdir -p "$root/$place"
  mountpoint -q "$root/$place" && continue
  case "$place" in
    proc) mount -t proc proc "$root/proc" ;;
    dev/shm) mount -t tmpfs -o mode=1777 tmpfs "$root/dev/shm" ;;
    *) [ -d "/$place" ] && mount --bind "/$place" "$root/$place" || continue ;;
  esac
  mounted+=("$root/$place")
done

# `inside USER COMMAND`: in the clone, with the environment of a login.
inside() {
  local proxy=()
  for name in http_proxy https_proxy no_proxy; do [ -z "${!name-}" ] || proxy+=("$name=${!name}"); done
  chroot "$root" env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin TERM=dumb LANG=C.UTF-8 "${proxy[@]}" \
    /sbin/runuser -u "$1" -- env HOME="$([ "$1" = root ] && echo /root || echo "/home/$1")" bash -c "cd /home/newcomer/whywait && $2" </dev/null
}
chroot "$root" id newcomer >/dev/null 2>&1 || chroot "$root" useradd --create-home newcomer
rm -rf "$root/home/newcomer/whywait"
git clone -q --no-hardlinks "$here" "$root/home/newcomer/whywait"
chroot "$root" chown -R newcomer:newcomer /home/newcomer/whywait

failed() {
  echo "newcomer: $1 FAILED after $2 s" >&2
  exit 1
}
for step in "${steps[@]}"; do
  began=$SECONDS
  log="$root/home/newcomer/$step.log"
  case "$step" in
    quickstart)
      inside root examples/quickstart.sh 2>&1 | tee "$log" || failed quickstart $((SECONDS - began))
      grep -q '^speed-up: ' "$log" || failed "quickstart, which printed no speed-up," $((SECONDS - began))
      ;;
    tests)
      inside root tests/run.sh 2>&1 | tee "$log" || failed tests $((SECONDS - began))
      ;;
    tutorial)
      inside root 'command -v python3 >/dev/null || apt-get -qq install -y --no-install-recommends python3 >/dev/null' ||
        failed "python3, which the tutorial calls," $((SECONDS - began))
      inside newcomer 'python3 tests/build/tutorial.py docs/tutorial.md' 2>&1 | tee "$log" || failed tutorial $((SECONDS - began))
      ;;
  esac
  echo "newcomer: $step passed in $((SECONDS - began)) s"
done
