/** Containment of paths, by their names alone: a caller that must not be misled by symlinks passes real paths. */
import { isAbsolute, relative, resolve, sep } from 'node:path'

/**
 * Path of `path` relative to `root`: empty when both are the same, null when `path` is outside. A relative `path` starts at `root`.
 * @param root absolute
 */
export function relativeInside(root: string, path: string): string | null {
  const below = relative(root, resolve(root, path))
  // Between two drives of Windows, the relative path is absolute.
  return below === '..' || below.startsWith(`..${sep}`) || isAbsolute(below) ? null : below
}

/** True for `root` itself and for everything below it. */
export const isInside = (root: string, path: string): boolean => relativeInside(root, path) !== null
