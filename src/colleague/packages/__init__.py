"""An OpenExperts folder as typed objects: read, validate, snapshot, install, update."""
