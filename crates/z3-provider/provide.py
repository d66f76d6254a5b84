"""Brings a solver into the cache: one wheel by package name, checked, some members unpacked.

In:  a wheel's requirement, its sha256, pip's selection arguments, a target folder, and `member=name` pairs;
     the member may end in `*` to mean the one member that begins so.
Out: the named files in the target folder, each put in place by a rename, so that builds running at the same
     time never see half a file. Exit 0, or exit 1 with one sentence that says what is missing.
Deliberately absent: any registry host. pip knows where packages come from, and the sha256 says whether to trust them.
"""

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile


def give_up(sentence):
    print(sentence)
    sys.exit(1)


def download(requirement, selection, folder):
    command = [sys.executable, "-m", "pip", "--disable-pip-version-check", "download", "--quiet", "--no-deps"]
    command += ["--only-binary=:all:", "--dest", folder, *selection, requirement]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode != 0:
        if "No module named pip" in done.stdout:
            give_up("python3 has no pip: run scripts/setup, or install the package python3-pip, and build again")
        give_up(f"pip could not download {requirement} (is the network there?): {done.stdout.strip()[-400:]}")
    wheels = [name for name in os.listdir(folder) if name.endswith(".whl")]
    if len(wheels) != 1:
        give_up(f"pip was to bring one wheel of {requirement} and brought {len(wheels)}")
    return os.path.join(folder, wheels[0])


def check(wheel, wanted):
    digest = hashlib.sha256()
    with open(wheel, "rb") as file:
        for block in iter(lambda: file.read(1 << 20), b""):
            digest.update(block)
    if digest.hexdigest() != wanted:
        give_up(f"the downloaded {os.path.basename(wheel)} is not the expected one: its sha256 is {digest.hexdigest()}")


def unpack(wheel, pairs, target, folder):
    with zipfile.ZipFile(wheel) as archive:
        for pair in pairs:
            member, name = pair.split("=", 1)
            if member.endswith("*"):
                found = [entry for entry in archive.namelist() if entry.startswith(member[:-1])]
            else:
                found = [entry for entry in archive.namelist() if entry == member]
            if len(found) != 1:
                give_up(f"{os.path.basename(wheel)} holds {len(found)} members {member}, not one")
            name = name or os.path.basename(found[0])
            staged = os.path.join(folder, name)
            with archive.open(found[0]) as source, open(staged, "wb") as copy:
                shutil.copyfileobj(source, copy, 1 << 20)
            os.chmod(staged, 0o755)
            os.replace(staged, os.path.join(target, name))


def main():
    requirement, sha256, selection, target, *pairs = sys.argv[1:]
    os.makedirs(target, exist_ok=True)
    folder = tempfile.mkdtemp(prefix=".unpacking-", dir=target)
    try:
        wheel = download(requirement, selection.split(), folder)
        check(wheel, sha256)
        unpack(wheel, pairs, target, folder)
    except OSError as error:
        give_up(f"unpacking {requirement} failed: {error}")
    finally:
        shutil.rmtree(folder, ignore_errors=True)


main()
