"""Reads ftrace text and systrace pages, which may be packed."""
import gzip, zipfile


def load(path):
    """Returns the text of a file, of a .gz file, or of the first file in an archive."""
    with open(path, 'rb') as file:
        data = file.read()
    if data[:2] == b'\x1f\x8b':
        data = gzip.decompress(data)
    if data[:2] == b'PK':
        archive = zipfile.ZipFile(path)
        data = archive.read(archive.namelist()[0])
    return data.decode('utf8', 'replace')
