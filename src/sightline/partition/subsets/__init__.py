"""Objects to everyone, subscriptions divided: KOP, SOP and DkM-SKS (DkM-SKS sections 3 and 4).

All three estimate from a sample of objects, O_init, what a subscription costs, and deal subscriptions greedily so that
workers cost alike. ``kop`` looks at keywords, ``sop`` at space, ``dkm-sks`` at both.
"""

from sightline.partition.subsets.dkm_sks import DkmSksParams, DkmSksRouting
from sightline.partition.subsets.kop import KopRouting
from sightline.partition.subsets.sop import SopParams, SopRouting

__all__ = ["DkmSksParams", "DkmSksRouting", "KopRouting", "SopParams", "SopRouting"]
