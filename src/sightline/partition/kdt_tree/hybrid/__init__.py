"""Algorithm 1 of PS2Stream: a workload becomes a kd^t-tree whose leaves are dealt to workers (section IV-B).

``sample`` puts a history on a grid and its terms on one list; ``node`` has what kd-tree nodes can do: their
load (Definition 1), the similarity of their texts, cuts along the grid's lines; ``text_parts`` divides a node's terms;
``merging`` deals leaves to workers; ``algorithm`` is Algorithm 1 itself.
"""
