"""State as bytes: the chunk codec, the manifest, snapshots."""
