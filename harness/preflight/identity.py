"""Which torch does this interpreter import, and how does it behave? Prints one JSON document.

    python identity.py [--behaviour] [--marks WORD...]

What is told, for whoever has to prove that it is a certain build: file (of the package), version, git_version,
libraries (that are loaded, by path), installs (every torch that the path of modules and its editable installs reach),
built and available (the MPS backend), and marks (for each word, whether the library holds it). Without --behaviour the
device is not touched; with it also storage: where a new tensor lives, shared or private, as the allocator logs it.
"""

from __future__ import annotations

import argparse
import json
import mmap
import os
import re
import sys
import tempfile
from pathlib import Path

# So large that it gets a heap of its own.
PROBE_BYTES = 96 << 20


def installs() -> list[str]:
    """Folders of packages named torch, in the order in which Python looks."""
    found: list[str] = []
    for entry in sys.path:
        package = Path(entry or ".") / "torch"
        if (package / "__init__.py").is_file():
            found.append(str(package.resolve()))
    for finder in sys.meta_path:
        # what an editable install leaves: a map from names to folders
        mapping = getattr(sys.modules.get(getattr(finder, "__module__", "")), "MAPPING", None)
        if isinstance(mapping, dict) and "torch" in mapping:
            found.append(str(Path(mapping["torch"]).resolve()))
    return list(dict.fromkeys(found))


def loaded_libraries() -> list[str]:
    """Paths of torch's libraries as the dynamic linker has them."""
    if sys.platform == "darwin":
        import ctypes

        system = ctypes.CDLL(None)
        system._dyld_get_image_name.restype = ctypes.c_char_p
        images = [system._dyld_get_image_name(number) for number in range(system._dyld_image_count())]
        paths = [os.fsdecode(image) for image in images if image]
    else:
        with open("/proc/self/maps", encoding="utf-8", errors="replace") as maps:
            paths = [fields[5].strip() for line in maps if len(fields := line.split(maxsplit=5)) == 6]
    return sorted({os.path.realpath(path) for path in paths if "libtorch" in os.path.basename(path)})


def marks(words: list[str], library: str | None) -> dict[str, bool]:
    """Which of the words the library holds: names of functions that only one arm has."""
    if not words or library is None or os.path.getsize(library) == 0:
        return {}
    with open(library, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
        return {word: content.find(word.encode()) >= 0 for word in words}


def storage() -> str | None:
    """The storage of a new tensor as the allocator's own log tells it: shared or private."""
    import torch

    with tempfile.TemporaryFile() as log:
        errors = os.dup(2)
        try:
            os.dup2(log.fileno(), 2)
            tensor = torch.ones(PROBE_BYTES // 4, device="mps")
            torch.mps.synchronize()
            del tensor
        finally:
            os.dup2(errors, 2)
            os.close(errors)
        log.seek(0)
        said = re.search(r"Allocated (shared|private)\b[^\n]*\bbuffer\b", log.read().decode(errors="replace"))
    return said.group(1) if said else None


def main() -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--behaviour", action="store_true")
    parser.add_argument("--marks", nargs="*", default=[], metavar="WORD")
    options = parser.parse_args()
    if options.behaviour:
        # the allocator reads it when torch starts: log each allocation
        os.environ["PYTORCH_DEBUG_MPS_ALLOCATOR"] = "2"
    answer: dict[str, object] = {"python": sys.executable, "installs": installs()}
    try:
        import torch

        libraries = loaded_libraries()
        library = next((path for path in libraries if "libtorch_cpu" in path), None)
        answer |= {
            "file": os.path.realpath(torch.__file__),
            "version": torch.__version__,
            "git_version": getattr(torch.version, "git_version", None),
            "libraries": libraries,
            "built": torch.backends.mps.is_built(),
            "available": torch.backends.mps.is_available(),
            "marks": marks(options.marks, library),
        }
        if options.behaviour:
            answer["storage"] = storage()
    except Exception as error:
        answer["error"] = f"{type(error).__name__}: {error}"
    print("\n" + json.dumps(answer), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
