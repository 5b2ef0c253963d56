/** Resolution of symlinks for paths whose last parts need not exist. */
import { readlink, realpath } from 'node:fs/promises'
import { dirname, join, resolve, sep } from 'node:path'
import { ParleyError } from '@parley/protocol'

/** Symlinks in one path, as Linux counts them. */
const MAX_LINKS = 40

/**
 * `path` with all symlinks followed, also a dangling one; parts that do not exist are kept.
 * @param path absolute
 * @throws ParleyError `bad_request` for links that lead in a circle; the error of the file system for a folder that cannot be searched.
 */
export async function resolveLinks(path: string): Promise<string> {
  return (await realpath(path).catch(nullIfMissing)) ?? stepwise(path)
}

async function stepwise(path: string): Promise<string> {
  const parts = resolve(path).split(sep).filter(Boolean).toReversed()
  let at = resolve('/')
  for (let links = 0, name = parts.pop(); name !== undefined; name = parts.pop()) {
    if (name === '.') continue
    if (name === '..') {
      at = dirname(at)
      continue
    }
    const next = join(at, name)
    const target = await readlink(next).catch(nullIfMissing)
    if (target === null) {
      at = next
      continue
    }
    links += 1
    if (links > MAX_LINKS)
      throw new ParleyError('bad_request', `${path} is a link that leads in a circle`, { details: { path } })
    if (target.startsWith(sep)) at = resolve('/')
    parts.push(...target.split(sep).filter(Boolean).toReversed())
  }
  return at
}

/** EINVAL: not a link. */
function nullIfMissing(error: NodeJS.ErrnoException): null {
  if (['ENOENT', 'ENOTDIR', 'EINVAL', 'ELOOP'].includes(error.code ?? '')) return null
  throw error
}
