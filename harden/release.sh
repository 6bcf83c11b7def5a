#!/usr/bin/env bash
# What can be checked of a release without publishing it: two builds give the same bytes, the files are
# valid and hold the package alone, both install into an empty environment and run, and what they bring
# with them: versions, licences, known vulnerabilities. The results are in build/release.
set -euo pipefail
cd "$(dirname "$0")/.."
python=$PWD/${PYTHON:-.venv/bin/python}
out=build/release
rm -rf "$out" && mkdir -p "$out"
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2>/dev/null || echo 1767225600)}
export SOURCE_DATE_EPOCH
for n in 1 2; do
  "$python" -m build --outdir "$out/$n" . >"$out/build-$n.log" 2>&1 || { tail -20 "$out/build-$n.log"; exit 1; }
done
for file in "$out"/1/*; do
  cmp "$file" "$out/2/$(basename "$file")"
done
echo "two builds are the same, byte for byte"
"$python" -m twine check --strict "$out"/1/*
"$python" - "$out" <<'PY'
import sys, zipfile
from pathlib import Path

[wheel] = Path(sys.argv[1], "1").glob("*.whl")
names = zipfile.ZipFile(wheel).namelist()
Path(sys.argv[1], "contents.txt").write_text("\n".join(sorted(names)) + "\n")
foreign = [name for name in names if not name.startswith(("metaod/", "metaod_next-"))]
assert not foreign, foreign
assert not [name for name in names if name.endswith((".pyc", ".nbi", ".nbc")) or "test" in Path(name).stem.split("_")], names
source = {str(path.relative_to("src")) for path in Path("src/metaod").rglob("*") if path.is_file()}
shipped = {name for name in names if name.startswith("metaod/")}
assert not {name for name in source - shipped if "__pycache__" not in name}, source - shipped
print(f"the wheel has {len(names)} files")
PY
for file in "$out"/1/*; do
  "$python" -m venv --clear "$out/empty"
  "$out/empty/bin/python" -m pip install --quiet --disable-pip-version-check -c constraints.txt "$file"
  (cd "$out" && empty/bin/metaod --version && empty/bin/metaod detect --example -o scored.csv >/dev/null && test -s scored.csv)
  echo "$(basename "$file") is installed into an empty environment, and detects"
done
"$python" -m piplicenses --python="$out/empty/bin/python" --from=mixed --format=csv --output-file="$out/licences.csv" \
  --partial-match --fail-on="AGPL;GNU General Public License;GPL-2.0-only;GPL-3.0-only"
"$python" -m cyclonedx_py environment "$out/empty/bin/python" --output-reproducible -o "$out/sbom.json"
packages=$("$out/empty/bin/python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
"$python" -m pip_audit --path "$packages" --format=json --output="$out/vulnerabilities.json" \
  >"$out/audit.log" 2>&1 || true
"$python" - "$out" <<'PY'
import json, sys
from pathlib import Path

# pip-audit passes a package that it finds no data about: such a package was not looked up
file = Path(sys.argv[1], "vulnerabilities.json")
found = json.loads(file.read_text())["dependencies"] if file.exists() else []
looked_up = [item for item in found if "skip_reason" not in item]
print(f"known vulnerabilities: {len(looked_up)} of {len(found)} packages could be looked up")
sys.exit([f"{item['name']} {item['version']}: {item['vulns']}" for item in looked_up if item["vulns"]] or 0)
PY
