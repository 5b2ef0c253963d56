/** Lines of the ledger that the disk has refused, in their order, until they are written. */
export class OwedWrites {
  readonly #writes = new Set<() => void>()

  /** Writes at once, after everything that is owed; what the disk refuses is owed. Never throws. */
  write(write: () => void): void {
    this.#writes.add(write)
    try {
      this.settle()
    } catch {
      // Full or failed. The next call, which needs the disk, reports it.
    }
  }

  /** Writes what is owed. @throws the system's error while the disk refuses it */
  settle(): void {
    for (const write of this.#writes) {
      write()
      this.#writes.delete(write)
    }
  }
}
