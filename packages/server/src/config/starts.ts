/** Readers of settings of New Conversation: addresses of git hosts, and deadlines of the phases of a start. */
import { PHASES, type PhaseDeadlines } from '../conversation/index.ts'
import { checked } from './values.ts'
import { gitHostOf, type GitHosts } from '../workspace/index.ts'

/** `{"github": "https://git.example.org"}`, as an object or as JSON text; null for anything else. */
function readGitHosts(value: unknown): GitHosts | null {
  const hosts: Record<string, string> = {}
  for (const [name, address] of entries(value) ?? [['', '']]) {
    const host = gitHostOf(name)
    const url = typeof address === 'string' && /^https?:\/\//.test(address) ? URL.parse(address) : null
    if (host === null || url === null || url.username !== '' || url.search !== '' || url.hash !== '') return null
    hosts[host] = url.href.replace(/\/+$/, '')
  }
  return hosts
}

export const gitHosts = checked(
  'object of addresses',
  readGitHosts,
  'an object such as {"github": "https://git.example.org"} with github, gitlab, bitbucket or enterprise_sso',
)

/** `{"repository": 60}` in seconds, as an object or as JSON text, converted to milliseconds; null for anything else. */
function readDeadlines(value: unknown): Partial<PhaseDeadlines> | null {
  const found: Record<string, number> = {}
  for (const [name, seconds] of entries(value) ?? [['', 0]]) {
    const isPhase = name !== 'ready' && PHASES.some((phase) => phase === name)
    if (!isPhase || typeof seconds !== 'number' || !(seconds > 0) || seconds > 1e6) return null
    found[name] = seconds * 1000
  }
  return found
}

export const deadlines = checked(
  'object of seconds',
  readDeadlines,
  `an object such as {"repository": 60} of seconds above 0 with ${PHASES.slice(0, -1).join(', ')}`,
)

function entries(value: unknown): [string, unknown][] | null {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return Object.entries(value)
  if (typeof value !== 'string' || !value.trimStart().startsWith('{')) return null
  try {
    return entries(JSON.parse(value))
  } catch {
    return null
  }
}
