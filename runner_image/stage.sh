#!/usr/bin/env bash
# Lays out what the runner's image is built from: our two packages, what they need at the versions of
# uv.lock, and the Containerfile. See README.md beside this file.
#
#   runner_image/stage.sh FOLDER [PYTHON]
#
# FOLDER   made anew; the context of the build
# PYTHON   an interpreter of the version that the image's base has (default: python3.11)
# DEVICE   cpu (default): leave out what only a GPU's driver would load; any other word: keep all
# ONLY     packages: lay out our two packages alone, in seconds, for a build that has the rest
set -euo pipefail

folder=${1:?usage: runner_image/stage.sh FOLDER [PYTHON]}
python=${2:-python3.11}
device=${DEVICE:-cpu}
repository=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
uv=$(command -v uv || echo "$repository/.venv/bin/uv")

rm -rf "$folder"
mkdir -p "$folder/packages"
folder=$(cd "$folder" && pwd)

if [[ ${ONLY:-} != packages ]]; then
  without=()
  [[ $device == cpu ]] && without=(--no-emit-package triton) # compiles for GPUs alone
  "$uv" --quiet --directory "$repository" export --frozen --only-group runner "${without[@]}" \
    --output-file "$folder/requirements.txt" >"$folder/export.log"
  rm "$folder/export.log"
  # Byte code is checked by content: a copy into an image may change times, and an image is read-only.
  PYC_INVALIDATION_MODE=UNCHECKED_HASH "$uv" --quiet pip install --python "$python" --no-deps \
    --require-hashes --compile-bytecode --target "$folder/dependencies" \
    --requirement "$folder/requirements.txt"
  rm -rf "$folder/dependencies/bin"

  if [[ $device == cpu && -d $folder/dependencies/nvidia ]]; then
    # torch from the registry is linked against CUDA's libraries, so those have to be there; what they
    # would load for a device doesn't (three gigabytes of it).
    needed=$(ldd "$folder"/dependencies/torch/lib/libtorch_python.so |
      sed -n "s|.*=> \($folder/.*\) (0x.*|\1|p" | xargs realpath)
    find "$folder/dependencies/nvidia" -type f \( -name '*.so*' -o -name '*.a' -o -name '*.h*' \) |
      grep --invert-match --line-regexp --fixed-strings "$needed" | xargs --delimiter='\n' rm -f
  fi
fi

for package in protocol/equipoise_protocol runner_image/equipoise_runner; do
  cp -r "$repository/$package" "$folder/packages/"
done
find "$folder/packages" -name __pycache__ -type d -prune -exec rm -rf {} +
# So that a record can name the runner's version: the distribution without its operator.
version=$("$python" -c 'import sys, tomllib
print(tomllib.load(open(sys.argv[1], "rb"))["project"]["version"])' "$repository/pyproject.toml")
mkdir "$folder/packages/equipoise-$version.dist-info"
printf 'Metadata-Version: 2.1\nName: equipoise\nVersion: %s\n' "$version" \
  >"$folder/packages/equipoise-$version.dist-info/METADATA"
"$python" -m compileall -q --invalidation-mode unchecked-hash "$folder/packages"
# Whatever the umask was: every user of the image reads it. (Files of the dependencies have their
# packages' modes, and may be links to uv's cache.)
chmod -R u=rwX,go=rX "$folder/packages"
if [[ -d $folder/dependencies ]]; then
  find "$folder/dependencies" -type d -exec chmod u=rwx,go=rx {} +
fi
cp "$repository/runner_image/Containerfile" "$folder/"
