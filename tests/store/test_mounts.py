"""The file system of a folder, from the system's table of mounts."""

from __future__ import annotations

from pathlib import Path

import pytest

from sightline.store.mounts import is_on_network

MOUNTS = """\
22 28 0:20 / /proc rw,relatime shared:5 - proc proc rw
28 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw
40 28 0:30 / /data rw,relatime shared:9 - nfs4 server:/data rw
41 40 8:2 / /data/scratch rw,relatime - xfs /dev/sdb1 rw
42 28 0:31 / /mnt/two\\040words rw - fuse.sshfs host:/x rw
43 28 0:32 / /vm rw - ext4 /dev/sdc rw
44 28 0:33 / /vm rw - cifs //server/vm rw
45 28 0:34 / /database rw - fuseblk /dev/sdd rw
"""


@pytest.mark.parametrize(
    ("path", "network"),
    [
        ("/srv/store", False),
        ("/data", True),
        ("/data/store", True),
        ("/data/scratch/store", False),
        ("/mnt/two words/store", True),
        ("/mnt/two", False),
        ("/vm/store", True),  # of two mounts on one place the later is seen
        ("/database/store", False),  # begins like /data, and is not in it; a local disk by a driver of its own
    ],
)
def test_the_deepest_mount_decides(path: str, network: bool) -> None:
    assert is_on_network(Path(path), MOUNTS) is network


def test_this_machine_is_asked_by_itself(tmp_path: Path) -> None:
    assert is_on_network(tmp_path) in (True, False)
    assert is_on_network(tmp_path, "") is False
