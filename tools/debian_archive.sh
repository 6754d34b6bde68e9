# Shared by the set-up scripts: apt packages, and a private apt over the archive that this machine already uses.
# Sourced, not run: source tools/debian_archive.sh

say() { printf '%s: %s\n' "$(basename "$0")" "$*" >&2; }

# Installs the missing ones of the named packages, as root or with sudo.
install_packages() {
  local package missing=() sudo=
  [ "$(id -u)" = 0 ] || sudo=sudo
  for package in "$@"; do
    dpkg-query -W -f '${Status}' "$package" 2>/dev/null | grep -q 'install ok installed' || missing+=("$package")
  done
  [ ${#missing[@]} -gt 0 ] || return 0
  say "installing ${missing[*]}"
  local patient=(-qq -o Acquire::Retries=5 -o DPkg::Lock::Timeout=120)    # archives that stumble, another apt at work
  $sudo apt-get "${patient[@]}" update
  $sudo env DEBIAN_FRONTEND=noninteractive apt-get "${patient[@]}" install -y --no-install-recommends "${missing[@]}" >/dev/null
}

# begin_private_apt FOLDER: afterwards `private_apt` is an apt-get of its own, with its state in FOLDER/.apt and the
# packages of Debian 13 and the sources of Debian 12 and 13. Nothing of the system's apt is read but the archive's
# address and its keys: one-line or deb822 sources, or a mirror list, never a fixed host.
begin_private_apt() {
  apt_state=$1/.apt
  local mirror keyring= key
  mirror=$( (cat /etc/apt/sources.list /etc/apt/sources.list.d/*.{list,sources} /etc/apt/mirrors/*.list 2>/dev/null || true) |
    grep -v '^#' | grep -oE '(https?|file)://[^] ]+/debian/?( |$)' | head -1 | tr -d ' ' || true)
  : "${mirror:?no Debian archive found in the apt sources of this machine}"
  for key in /usr/share/keyrings/debian-archive-keyring.{pgp,gpg}; do [ -f "$key" ] && keyring=$key && break; done
  : "${keyring:?debian-archive-keyring is not installed}"
  mkdir -p "$apt_state"/{lists/partial,cache/archives/partial,get}
  cat > "$apt_state/sources.list" <<LIST
deb [signed-by=$keyring] $mirror trixie main
deb-src [signed-by=$keyring] $mirror trixie main
deb-src [signed-by=$keyring] $mirror bookworm main
LIST
  : > "$apt_state/status"
  private_apt update
}

private_apt() {
  apt-get -qq -o Dir::Etc::sourcelist="$apt_state/sources.list" -o Dir::Etc::sourceparts=/dev/null \
    -o Dir::Etc::preferencesparts=/dev/null -o Dir::State::Lists="$apt_state/lists" \
    -o Dir::State::status="$apt_state/status" -o Dir::Cache="$apt_state/cache" \
    -o APT::Sandbox::User="$(id -un)" -o Acquire::Retries=5 "$@"
}

end_private_apt() { rm -rf "$apt_state"; }
