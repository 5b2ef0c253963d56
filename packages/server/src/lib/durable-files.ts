/** Files that outlive a power cut. */
import { mkdir, open, rename } from 'node:fs/promises'
import { dirname, join } from 'node:path'

/**
 * Creates or replaces a private file atomically. Resolves when content and name are on disk; its folders are created with mode 0700.
 * Writes of one path must not overlap.
 */
export async function writeDurably(path: string, content: string | Uint8Array): Promise<void> {
  const folder = dirname(path)
  const made = await mkdir(folder, { recursive: true, mode: 0o700 })
  const temporary = `${path}.new`
  const file = await open(temporary, 'w', 0o600)
  try {
    await file.writeFile(content)
    await file.sync()
  } finally {
    await file.close()
  }
  await rename(temporary, path)
  await syncFolders(folder, made)
}

/**
 * Makes the names in a folder durable: renamed, created and removed entries survive a power cut.
 * @param made the topmost folder that was created for it, whose own name becomes durable too
 */
export async function syncFolders(folder: string, made?: string): Promise<void> {
  // Windows cannot open folders; there a rename is as durable as its file system makes it.
  if (process.platform === 'win32') return
  const last = made === undefined ? folder : dirname(made)
  for (let at = folder; ; at = join(at, '..')) {
    await syncFolder(at)
    if (at === last || at === dirname(at)) return
  }
}

async function syncFolder(path: string): Promise<void> {
  try {
    await using folder = await open(path, 'r')
    await folder.sync()
  } catch (error) {
    // A folder that may be written but not read, or a file system that syncs no folders: the change itself has succeeded.
    if (!['EACCES', 'EPERM', 'EINVAL'].includes((error as NodeJS.ErrnoException).code ?? '')) throw error
  }
}
