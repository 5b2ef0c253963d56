/** Secrets in the environment of a user's commands, and masking of secrets in everything that is stored about them. */
import { createHash } from 'node:crypto'
import { RecentMap } from '../lib/index.ts'
import type { Log } from '../observability/index.ts'
import type { Draft } from '@parley/protocol'
import { keepNewest, makeMasker, maskDrafts, secretValues, type Cipher, type Masker } from '../secrets/index.ts'
import { MaskerCache } from './masker-cache.ts'
import type { NamedSecrets } from './secrets.ts'
import type { UserSettings } from './settings.ts'
import type { Stored } from './stored.ts'

/** Variables of git hosts' tokens. Source: conversation-service.md 4.3. */
const TOKEN_NAMES: Readonly<Record<string, string>> = {
  git_host_1: 'GITHUB_TOKEN',
  github: 'GITHUB_TOKEN',
  git_host_2: 'GITLAB_TOKEN',
  gitlab: 'GITLAB_TOKEN',
  git_host_3: 'BITBUCKET_TOKEN',
  bitbucket: 'BITBUCKET_TOKEN',
}

export interface CommandSecrets {
  /** Custom secrets by name, and tokens of git hosts where no custom secret has their variable's name. */
  userSecrets(user: string): Promise<Map<string, string>>
  /** Names and descriptions for the model. */
  names(user: string): Promise<{ name: string; description: string | null }[]>
  /** Returns the user's secrets that the text of a command names as whole identifiers, with their current values. Source: agent-core.md 7.2; F20. */
  secretsFor(user: string): (text: string) => Promise<Record<string, string>>
  /** Variables with the author that git commits under; no secrets. As of the last commit, or of the last command that named secrets. */
  gitVariables(user: string): Promise<Record<string, string>>
  /**
   * Drafts of one of the user's conversations with every secret value masked, including the newest values that were replaced earlier.
   * `more`: secrets of the conversation itself.
   */
  mask(user: string, drafts: readonly Draft[], more?: readonly string[]): Promise<readonly Draft[]>
  /**
   * As `mask`, with the secrets as this process has read them, and their version: the store refuses the events when it is not the
   * current one.
   * @param refused version that the store has refused; the secrets are read again when it is the one that was read
   */
  maskAsRead(
    user: string,
    drafts: readonly Draft[],
    more: readonly string[],
    refused: number | null,
  ): Promise<{ drafts: readonly Draft[]; version: number }>
  /** The masker behind `mask`, for other texts. */
  masker(user: string, more?: readonly string[]): Promise<Masker>
  /** Masks an issued key of the user from now on: the store contains its hash alone, so only a request shows it. */
  sawKey(user: string, key: string): void
}

/** Keys kept for one user, the newest ones. */
const MAX_KEYS = 100
/** Most bytes of the secrets of all users, and of the keys of all users. Those of a user who is not kept are read again. */
const MAX_BYTES = { secrets: 32 * 1024 * 1024, keys: 4 * 1024 * 1024 }
/** Bytes of a user beside the texts. */
const USER_BYTES = 512
/** The secrets and settings of a user. They are current while the store has this version of them. */
type Known = {
  version: number
  /** Null when they cannot be decrypted, or there are none. */
  stored: Stored | null
  /** Without the values. */
  named: readonly { name: string; description: string | null }[]
  /** Values of named secrets. */
  custom: ReadonlyMap<string, string>
  /** All secret values. */
  values: ReadonlySet<string>
  /** Values that were replaced or deleted since the server started, or since the user was kept. */
  former: ReadonlySet<string>
  /** Changes with every value. */
  generation: number
}

type Deps = {
  secrets: NamedSecrets
  settings: UserSettings
  cipher: Pick<Cipher, 'open'>
  /** Keys and credentials of the server itself, which are masked for every user. */
  own: readonly string[]
  log: Pick<Log, 'warn'>
}

export function openCommandSecrets({ secrets, settings, cipher, own, log }: Deps): CommandSecrets {
  const knownOfUsers = new RecentMap<Known>(MAX_BYTES.secrets)
  const keysOf = new RecentMap<Set<string>>(MAX_BYTES.keys)
  const maskers = new MaskerCache()
  let generations = 0

  /** Null for a secret that cannot be decrypted: commands do not get it, so it needs no masking. */
  function open(user: string, name: string, sealed: string): string | null {
    try {
      return cipher.open(sealed)
    } catch (error) {
      log.warn({ user, secret: name, err: error }, 'secret not decrypted, omitted')
      return null
    }
  }

  async function storedOf(user: string): Promise<Stored | null> {
    return settings.current(user).catch((error: unknown) => {
      log.warn({ user, err: error }, 'settings not decrypted, omitted')
      return null
    })
  }

  async function userSecrets(user: string, only?: ReadonlySet<string>): Promise<Map<string, string>> {
    const { stored, custom } = await knownOf(user)
    const all = new Map([...tokens(stored), ...custom])
    return only === undefined ? all : new Map([...all].filter(([name]) => only.has(name)))
  }

  /** One small read while nothing has changed. The version is read first: a later change is noticed at the next call. */
  async function knownOf(user: string): Promise<Known> {
    const version = await secrets.version(user)
    const known = knownOfUsers.get(user)
    if (known?.version === version) return known
    const [rows, text] = await Promise.all([secrets.rows(user), settings.text(user)])
    const custom = new Map<string, string>()
    for (const { name, sealed } of rows) {
      const value = open(user, name, sealed)
      if (value !== null) custom.set(name, value)
    }
    const stored = text === null ? null : await storedOf(user)
    const values = new Set([...custom.values(), ...(stored === null ? [] : secretValues(stored))])
    const before = [...(known?.former ?? []), ...(known?.values ?? [])]
    const former = new Set(before.filter((value) => !values.has(value)))
    keepNewest(former)
    const named = rows.map(({ name, description }) => ({ name, description }))
    const fresh = { version, stored, named, custom, values, former, generation: ++generations }
    knownOfUsers.set(user, fresh, bytesOf(user, values, former))
    return fresh
  }

  function maskerOf(user: string, { values, former, generation }: Known, more: readonly string[]): Masker {
    const keys = keysOf.get(user) ?? []
    return maskers.get(digestOf([`${generation}`, ...keys, '', ...more]), () =>
      makeMasker([...own, ...keys, ...values, ...former, ...more]),
    )
  }

  const masker = async (user: string, more: readonly string[]) => maskerOf(user, await knownOf(user), more)

  return {
    userSecrets: (user) => userSecrets(user),

    async names(user) {
      const { named, stored } = await knownOf(user)
      const known = new Set(named.map(({ name }) => name))
      const hosts = [...tokens(stored).keys()].filter((name) => !known.has(name))
      return [...named, ...hosts.map((name) => ({ name, description: 'token of the git host' }))]
    },

    secretsFor: (user) => async (text) => Object.fromEntries(await userSecrets(user, new Set(text.match(/\w+/g)))),

    gitVariables: async (user) => gitVariables((knownOfUsers.get(user) ?? (await knownOf(user))).stored),

    mask: async (user, drafts, more = []) => maskDrafts(drafts, await masker(user, more)),

    async maskAsRead(user, drafts, more, refused) {
      const read = knownOfUsers.get(user)
      const known = read === undefined || read.version === refused ? await knownOf(user) : read
      return { drafts: maskDrafts(drafts, maskerOf(user, known, more)), version: known.version }
    },

    masker: async (user, more = []) => masker(user, more),

    sawKey(user, key) {
      const keys = keysOf.get(user) ?? new Set()
      if (keys.has(key) || own.includes(key)) return
      const [oldest] = keys.add(key)
      if (keys.size > MAX_KEYS && oldest !== undefined) keys.delete(oldest)
      keysOf.set(user, keys, bytesOf(user, keys))
    },
  }
}

function bytesOf(user: string, ...sets: readonly ReadonlySet<string>[]): number {
  let bytes = USER_BYTES + user.length
  for (const set of sets) for (const { length } of set) bytes += length
  return bytes
}

/** A digest of texts. Lengths keep two lists apart whose texts are divided differently. */
function digestOf(texts: readonly string[]): string {
  const hash = createHash('sha256')
  for (const text of texts) hash.update(`${text.length}:`).update(text)
  return hash.digest('base64')
}

/** For a git host with two spellings, the plain one takes precedence over the neutral one. */
function tokens(stored: Stored | null): Map<string, string> {
  const found = new Map<string, string>()
  for (const [host, variable] of Object.entries(TOKEN_NAMES)) {
    const token = stored?.provider_tokens[host]?.token
    if (token != null && token !== '') found.set(variable, token)
  }
  return found
}

function gitVariables(stored: Stored | null): Record<string, string> {
  const { git_user_name: name, git_user_email: email } = stored?.own ?? {}
  return {
    ...(name ? { GIT_AUTHOR_NAME: name, GIT_COMMITTER_NAME: name } : {}),
    ...(email ? { GIT_AUTHOR_EMAIL: email, GIT_COMMITTER_EMAIL: email } : {}),
  }
}
