#!/usr/bin/env python3
"""Images and a watermark for the image job, and an independent check of its results, with Pillow and NumPy.

  example.py make FOLDER [IMAGES]      photos/, watermark.npy, and job.toml for weft run --fill @FOLDER/job.toml
  example.py check FOLDER [EVERY]      exit code 1 where a picture in FOLDER/small/ is not that of its image

Pillow decodes the images, and the check computes in whole numbers, from the definition: all pixels have to be equal.
Where the results are not complete yet it checks those that are there. EVERY: each so manieth one, 1.
"""
import os
import random
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import files
from files import numpy

try:
    from PIL import Image
except ImportError:
    sys.exit(f"{sys.argv[0]}: Pillow is missing; on Debian: apt-get install python3-pil")

WIDTH, HEIGHT, OPACITY, LONGEST_SIDE = 56, 48, 60, 48
RESULTS = "small/"
JOB = f"""[[job]]
fill = "images:width={WIDTH},height={HEIGHT},opacity={OPACITY},batch=1,parts=3"  # short kernels for small bubbles
weights = "watermark.npy"
input = "photos"
results = "{RESULTS}"
"""


def kinds():
    """Endings, modes of Pillow and arguments of Image.save()."""
    yield ".jpg", "RGB", {"quality": 85}
    yield ".JPEG", "RGB", {"quality": 60, "progressive": True, "subsampling": 0}
    yield ".jpg", "L", {}
    yield ".jpg", "CMYK", {}
    yield ".png", "RGB", {}
    yield ".PNG", "RGBA", {}
    yield ".png", "P", {}
    yield ".png", "LA", {}
    yield ".png", "1", {}


def picture(numbers, height, width):
    """A colour that goes over into another one, and a bright spot."""
    y, x = numpy.mgrid[0:height, 0:width]
    one, other = (numpy.array([numbers.randrange(256) for _ in range(3)]) for _ in range(2))
    along = ((y + x) / (height + width))[:, :, None]
    spot = numpy.hypot(y - numbers.randrange(height), x - numbers.randrange(width)) < max(height, width) / 5
    return numpy.where(spot[:, :, None], 255 - one, one + (other - one) * along).astype("u1")


def watermark():
    """A ring whose opacity falls off."""
    y, x = numpy.mgrid[-9.5:10, -9.5:10]
    ring = numpy.clip(255 - 90 * numpy.abs(numpy.hypot(y, x) - 7), 0, 255)
    return numpy.dstack([numpy.full_like(ring, 250), numpy.full_like(ring, 240), numpy.full_like(ring, 90), ring]).astype("u1")


def make(folder, count):
    numbers = random.Random(1)
    os.makedirs(folder + "/photos", exist_ok=True)
    for number in range(count):
        ending, mode, arguments = list(kinds())[number % len(list(kinds()))]
        height, width = (numbers.randint(1, LONGEST_SIDE) for _ in range(2))
        image = Image.fromarray(picture(numbers, height, width)).convert(mode)
        image.save(f"{folder}/photos/{number:05}{ending}", **arguments)
    numpy.save(folder + "/watermark.npy", watermark())
    with open(folder + "/job.toml", "w") as out:
        out.write(JOB)


def weights(result_size, source_size):
    """Of each pixel of a source for each one of a result, along one dimension."""
    centre = (2 * numpy.arange(result_size)[:, None] + 1) * source_size
    place = (2 * numpy.arange(source_size)[None, :] + 1) * result_size
    return numpy.maximum(2 * max(source_size, result_size) - numpy.abs(centre - place), 0).astype("i8")


def wanted(source, mark):
    rows, columns = weights(HEIGHT, source.shape[0]), weights(WIDTH, source.shape[1])
    sums = numpy.einsum("yi,ijc,xj->yxc", rows, source.astype("i8"), columns, optimize=True)
    total = numpy.outer(rows.sum(1), columns.sum(1))[:, :, None]
    result = (sums + total // 2) // total
    corner = result[HEIGHT - mark.shape[0]:, WIDTH - mark.shape[1]:]
    cover = mark[:, :, 3:].astype("i8") * OPACITY
    corner[:] = (corner * (25500 - cover) + mark[:, :, :3] * cover + 12750) // 25500
    return result


def read_results(path, names):
    """By the number of the image. Its names differ before their endings, so that each picture has that with .png."""
    if not os.path.exists(path):
        outputs = [("pixels", "|u1", (HEIGHT, WIDTH, 3), False)]
        return files.read_results(path.rstrip("/"), outputs)["pixels"]
    numbers = {os.path.splitext(name)[0] + ".png": number for number, name in enumerate(names)}
    results = {}
    for name in os.listdir(path):
        with Image.open(path + name) as picture:
            results[numbers[name]] = numpy.asarray(picture)
    return results


def check(folder, every):
    names = sorted(os.listdir(folder + "/photos"))
    mark = numpy.load(folder + "/watermark.npy")
    results = read_results(f"{folder}/{RESULTS}", names)
    if os.path.exists(f"{folder}/{RESULTS}") and len(names) != len(results):
        return f"{len(results)} results for {len(names)} images"
    if not results:
        return "there are no results yet"
    checked = sorted(results)[::every]
    for number in checked:
        with Image.open(f"{folder}/photos/{names[number]}") as image:
            apart = numpy.abs(wanted(numpy.asarray(image.convert("RGB")), mark) - results[number])
        if apart.any():
            return f"{names[number]}: {numpy.count_nonzero(apart)} numbers differ, by at most {apart.max()}"
    print(f"{len(results)} of {len(names)} images have results, {len(checked)} checked, all pixels equal")
    return None


def main(arguments):
    if len(arguments) in (2, 3) and arguments[0] in ("make", "check"):
        if arguments[0] == "make":
            return make(arguments[1], int(arguments[2]) if len(arguments) == 3 else 5000)
        return check(arguments[1], int(arguments[2]) if len(arguments) == 3 else 1)
    return __doc__


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
