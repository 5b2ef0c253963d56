/** Splits a file pattern into a directory and the rest. */

const MAGIC = /[*?[{\\]/

/**
 * Splits a pattern that begins at the root or at home at its first part with a wildcard; any other one stays whole.
 * A pattern without a wildcard is split before its last name. Source: agent-core.md 8.8.
 */
export function splitPattern(pattern: string): { dir: string | null; glob: string } {
  if (!/^(\/|~(\/|$))/.test(pattern)) return { dir: null, glob: pattern }
  const parts = pattern.split('/')
  const magic = parts.findIndex((part) => MAGIC.test(part))
  const cut = Math.max(1, magic === -1 ? parts.length - 1 : magic)
  const glob = parts.slice(cut).join('/')
  // The rest is relative to the directory and must not match at any depth.
  return { dir: parts.slice(0, cut).join('/') || '/', glob: glob.includes('/') ? glob : `./${glob}` }
}
