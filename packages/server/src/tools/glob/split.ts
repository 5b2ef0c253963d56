/** Where a file pattern begins to be one. */

const MAGIC = /[*?[{\\]/

/**
 * A pattern that begins at the root or at home, split at its first part with a wildcard; any other one is left whole.
 * A pattern without a wildcard is split before its last name. Source: agent-core.md 8.8.
 */
export function splitPattern(pattern: string): { dir: string | null; glob: string } {
  if (!/^(\/|~(\/|$))/.test(pattern)) return { dir: null, glob: pattern }
  const parts = pattern.split('/')
  const magic = parts.findIndex((part) => MAGIC.test(part))
  const cut = Math.max(1, magic === -1 ? parts.length - 1 : magic)
  const glob = parts.slice(cut).join('/')
  // What is left after the split is meant from there, not at any depth.
  return { dir: parts.slice(0, cut).join('/') || '/', glob: glob.includes('/') ? glob : `./${glob}` }
}
