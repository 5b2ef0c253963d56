import { readdir } from 'node:fs/promises'
import { join } from 'node:path'

/**
 * The files below `folder`. Links are not followed, as a recursive `readdir` does: a home of a sandbox has links to toolchains with
 * a hundred thousand files.
 * @param skips true for a file or a folder that is left out
 */
export async function* filesBelow(
  folder: string,
  skips: (path: string) => boolean = () => false,
): AsyncGenerator<string> {
  for (const entry of await readdir(folder, { withFileTypes: true }).catch(() => [])) {
    const path = join(folder, entry.name)
    if (skips(path)) continue
    if (entry.isDirectory()) yield* filesBelow(path, skips)
    else if (entry.isFile()) yield path
  }
}
