"""The store on real files: schema, writer and readers, the lock, trouble with the disk, death of the process."""
