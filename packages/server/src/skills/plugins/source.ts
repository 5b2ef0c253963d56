/** Sources of plugins in requests. Pure. Source: agent-core.md 6.7; agent-server-wire.md 5.14. */
import { invalidInput, type Place, type PluginSource } from '@parley/protocol'

/** `git`: a repository; `path`: a folder that the conversation's commands can read too. */
export type PluginPlace =
  | { kind: 'git'; name: string; provider: string | null; ref: string | null; folder: string }
  | { kind: 'path'; path: string; folder: string }

const GITHUB = /^github:([\w.-]+\/[\w.-]+)$/
const REF = /^[A-Za-z0-9_][A-Za-z0-9_./+@-]{0,199}$/

/**
 * @param at place of the source in the request, such as `['plugins', 0]`, for errors
 * @throws ParleyError `invalid_input` naming the member and the reason.
 */
export function placeOfPlugin({ source, ref, repo_path }: PluginSource, at: Place): PluginPlace {
  const folder = folderOf(repo_path, at)
  const text = source.trim()
  const onGithub = GITHUB.exec(text)?.[1]
  const isAddress = /^[a-z][a-z0-9+.-]*:/i.test(text) || /^[\w.-]+@[\w.-]+:/.test(text)
  if (onGithub === undefined && !isAddress) {
    if (text === '' || text.includes('\0') || text.startsWith('~'))
      throw invalid([...at, 'source'], 'is no path: give one that is absolute, or relative to the working directory')
    if (ref !== null) throw invalid([...at, 'ref'], 'is for git sources alone')
    return { kind: 'path', path: text, folder }
  }
  if (ref !== null && (!REF.test(ref) || ref.includes('..')))
    throw invalid([...at, 'ref'], 'is no branch, tag or commit')
  if (onGithub !== undefined) return { kind: 'git', name: onGithub, provider: 'github', ref, folder }
  const url = /^https?:/i.test(text) ? URL.parse(text) : null
  if (url === null)
    throw invalid([...at, 'source'], 'cannot be fetched: use github:owner/name, an https address or a path')
  if (url.username !== '' || url.password !== '')
    throw invalid(
      [...at, 'source'],
      'holds a credential; take it out, and store the token of the git provider in the settings',
    )
  return { kind: 'git', name: url.href, provider: null, ref, folder }
}

/** Folder relative to the root of the clone or of the path. */
function folderOf(path: string | null, at: Place): string {
  const parts = (path ?? '').split('/').filter((part) => part !== '' && part !== '.')
  if (path?.startsWith('/') === true || parts.includes('..') || path?.includes('\0') === true)
    throw invalid([...at, 'repo_path'], 'leads out of the plugin')
  return parts.join('/')
}

const invalid = (at: Place, why: string) => invalidInput(`${at.join('.')} ${why}.`, at)
