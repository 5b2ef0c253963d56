import { open } from 'node:fs/promises'
import { join } from 'node:path'

/** Tests whether the disk of a folder still completes writes. */
export class DiskProbe {
  readonly #path: string
  #probing: Promise<void> | null = null

  constructor(folder: string) {
    this.#path = join(folder, 'heartbeat')
  }

  /** Resolves when the disk has answered, also with an error such as a full disk. One write at a time, because a failed disk answers none. */
  answers(): Promise<void> {
    return (this.#probing ??= this.#write().finally(() => {
      this.#probing = null
    }))
  }

  async #write(): Promise<void> {
    try {
      await using file = await open(this.#path, 'w', 0o600)
      await file.write('.')
      await file.datasync()
    } catch {
      // The requests that need the disk report the error.
    }
  }
}
