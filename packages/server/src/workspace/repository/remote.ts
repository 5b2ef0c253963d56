/**
 * Turns the repository of a request into an address and a credential.
 *
 * Invariants
 *   G1. A token goes only to the host that it was stored for.
 *   G2. Plain http is used only for hosts that are configured with it.
 */
import { GitFailure } from './failure.ts'

const GIT_HOSTS = ['github', 'gitlab', 'bitbucket', 'enterprise_sso'] as const
/** A kind of git provider. */
export type GitHost = (typeof GIT_HOSTS)[number]
/** Base address per provider; default: the public one. */
export type GitHosts = Readonly<Partial<Record<GitHost, string>>>
export type GitToken = { token: string; host?: string | null }

const PUBLIC: GitHosts = {
  github: 'https://github.com',
  gitlab: 'https://gitlab.com',
  bitbucket: 'https://bitbucket.org',
}

/** Neutral names of the conversation service. Source: conversation-service.md 0. */
const ALIASES: Readonly<Record<string, GitHost>> = {
  git_host_1: 'github',
  git_host_2: 'gitlab',
  git_host_3: 'bitbucket',
}

export function gitHostOf(provider: string): GitHost | null {
  return ALIASES[provider] ?? GIT_HOSTS.find((host) => host === provider) ?? null
}

export type Credential = { scope: string; username: string; password: string }

export type Remote = {
  /** Addresses in the order of the attempts: with and without `.git` when the request has no address. */
  urls: readonly string[]
  /** Host and path, for people and for trust: `github.com/acme/shop`. */
  slug: string
  /** Name of the folder of the clone. */
  directory: string
  credential: Credential | null
  /** Variable with the token in the agent's commands, and the user name for it; null for an unknown host. */
  agentLogin: { variable: string; username: string } | null
  /** True when plain http is allowed for it. */
  isPlain: boolean
}

export type RemoteDeps = {
  hosts: GitHosts
  /** The user's stored token of a provider; null when there is none. */
  tokenOf: (host: GitHost) => Promise<GitToken | null>
}

/**
 * The remote of a repository.
 * @param provider in any spelling; null: the provider of the address, otherwise the first one with a token, otherwise github
 * @throws GitFailure for a provider without an address, and for plain http where it is not configured
 */
export async function findRemote(
  { name, provider }: { name: string; provider: string | null },
  deps: RemoteDeps,
): Promise<Remote> {
  const hosts: GitHosts = { ...PUBLIC, ...deps.hosts }
  const isAddress = /^https?:\/\//i.test(name)
  const known = provider === null ? null : gitHostOf(provider)
  const host = known ?? (isAddress ? ownerOf(name, hosts) : await firstWithToken(deps)) ?? 'github'
  const token = await deps.tokenOf(host)
  const base = token?.host ? baseOf(token.host) : hosts[host]
  if (base === undefined && !isAddress) {
    throw new GitFailure(
      'GIT$PROVIDER_NOT_CONFIGURED',
      `This server knows no address of ${provider ?? host}. Set one in git_hosts, or give the repository's full address.`,
    )
  }
  const address = new URL(isAddress ? name : `${trimmed(base!)}/${name}`)
  const isPlain = address.protocol === 'http:'
  if (isPlain && !Object.values(hosts).some((url) => url !== undefined && new URL(url).origin === address.origin)) {
    throw new GitFailure(
      'GIT$HOST_NOT_ALLOWED',
      `${address.host} would be spoken to over plain http, which this server does only with hosts in git_hosts. Use https.`,
    )
  }
  const path = trimmed(address.pathname).replace(/^\//, '')
  const plainPath = path.replace(/\.git$/, '')
  const isOwn = base !== undefined && isBelow(address, new URL(base))
  return {
    urls: isAddress
      ? [trimmed(address.href)]
      : [`${address.origin}/${plainPath}.git`, `${address.origin}/${plainPath}`],
    slug: `${address.host}/${plainPath}`,
    directory: directoryOf(plainPath),
    credential: token !== null && isOwn ? credentialOf(host, token.token, address) : null,
    agentLogin: isOwn && host !== 'enterprise_sso' ? { variable: VARIABLES[host], username: USERNAMES[host] } : null,
    isPlain,
  }
}

/** Source: conversation-service.md 4.3. */
const VARIABLES = { github: 'GITHUB_TOKEN', gitlab: 'GITLAB_TOKEN', bitbucket: 'BITBUCKET_TOKEN' } as const
/** User name for a token, per provider. Source: conversation-service.md 1.6. */
const USERNAMES: Readonly<Record<GitHost, string>> = {
  github: 'x-access-token',
  gitlab: 'oauth2',
  bitbucket: 'x-token-auth',
  enterprise_sso: 'oauth2',
}

const trimmed = (url: string): string => url.replace(/\/+$/, '')

/** A stored host is a host name or a URL. */
const baseOf = (host: string): string => (host.includes('://') ? host : `https://${host}`)

function ownerOf(address: string, hosts: GitHosts): GitHost | null {
  const url = new URL(address)
  return GIT_HOSTS.find((host) => hosts[host] !== undefined && isBelow(url, new URL(hosts[host]))) ?? null
}

function isBelow(url: URL, base: URL): boolean {
  const path = `${trimmed(base.pathname)}/`
  return url.origin === base.origin && `${url.pathname}/`.startsWith(path)
}

async function firstWithToken({ tokenOf }: RemoteDeps): Promise<GitHost | null> {
  for (const host of GIT_HOSTS) if ((await tokenOf(host)) !== null) return host
  return null
}

/** A token of Bitbucket may consist of a user name and an app password. */
function credentialOf(host: GitHost, token: string, { origin }: URL): Credential {
  const [user, ...rest] = token.split(':')
  if (host === 'bitbucket' && rest.length > 0) return { scope: origin, username: user!, password: rest.join(':') }
  return { scope: origin, username: USERNAMES[host], password: token }
}

function directoryOf(path: string): string {
  const last = path.slice(path.lastIndexOf('/') + 1).replace(/[^A-Za-z0-9._-]/g, '-')
  return /^\.*$|^\.git$/i.test(last) ? 'repository' : last
}
