/**
 * Named secrets of a user: values encrypted at rest, names and descriptions readable. Both APIs share them.
 * Source: interface.md, Custom secret records; decisions.md, Custom secrets; conversation-service.md 4.1; agent-server-wire.md 1.10.
 */
import {
  invalidInput,
  isReservedSecretName,
  ParleyError,
  type SecretItem,
  SecretName,
  type UserSecrets,
} from '@parley/protocol'
import { HIDDEN, isMaskable, SECRET_LIMITS, type Cipher } from '../secrets/index.ts'
import type { SecretRow, SecretStore } from '../storage/index.ts'

/** A secret with its decrypted value. */
export type OpenSecret = { name: string; value: string; description: string | null }

export interface NamedSecrets {
  /** Sorted by name; without values. */
  list(user: string): Promise<SecretItem[]>
  /**
   * `isMasked` in the result: the value is long and rare enough to be masked in output.
   * @throws ParleyError `conflict` when the name is taken, or differs from another one by case alone.
   */
  create(user: string, secret: OpenSecret): Promise<{ isMasked: boolean }>
  /** Changes name and description; the value stays. @throws ParleyError `not_found`, `conflict`. */
  update(user: string, name: string, to: SecretItem): Promise<void>
  /** Creates or replaces a secret; an absent description keeps the earlier one. @throws ParleyError `invalid_input` for the name. */
  put(
    user: string,
    secret: { name: string; value: string; description?: string | null | undefined },
  ): Promise<SecretItem>
  /** @throws ParleyError `not_found`. */
  delete(user: string, name: string): Promise<void>
  /** @throws ParleyError `not_found`; `unavailable` when the server's key does not decrypt it. */
  value(user: string, name: string): Promise<string>
  /** @throws ParleyError `conflict` for names that differ only by case from each other or from a stored one; `too_large`. */
  expectStorable(user: string, entries: NonNullable<UserSecrets['custom_secrets']>): Promise<void>
  /** Stores the `custom_secrets` of a settings record. An entry without a value changes only the description of an existing secret. */
  store(user: string, entries: NonNullable<UserSecrets['custom_secrets']>): Promise<void>
  /** As `SecretStore.version`. */
  version(user: string): Promise<number>
  /** Rows with encrypted values, for callers that decrypt many at once. */
  rows(user: string): Promise<SecretRow[]>
}

/** Characters of the sealed secrets of a user, which every commit of a conversation reads. Source: docs/errors.md, Size of a body. */
const MAX_SEALED = 2 * 1024 * 1024

/** Valid names in the agent-server API. Source: agent-server-wire.md 1.10. */
const WIRE_NAME = /^[a-zA-Z][a-zA-Z0-9_]{0,63}$/

const itemOf = ({ name, description }: SecretRow): SecretItem => ({ name, description })

export function openNamedSecrets(store: SecretStore, cipher: Pick<Cipher, 'seal' | 'open'>): NamedSecrets {
  const sealed = ({ name, value, description }: OpenSecret) => ({ name, description, sealed: cipher.seal(value) })

  async function found(user: string, name: string): Promise<SecretRow> {
    const row = await store.get(user, name)
    if (row === null) throw unknown(name)
    return row
  }

  /** An existing secret with exactly this name stays usable. */
  async function expectNoTwin(user: string, name: string, except?: string): Promise<void> {
    const names = (await store.list(user)).map((row) => row.name)
    if (!names.includes(name))
      refuseTwin(
        name,
        names.filter((other) => other !== except),
      )
  }

  /**
   * Checks that a user may have these values besides the other ones. Secrets that an earlier version stored may be more.
   * @throws ParleyError `too_large`
   */
  async function expectRoom(user: string, values: ReadonlyMap<string, string>): Promise<void> {
    const rows = await store.list(user)
    const others = rows.filter(({ name }) => !values.has(name))
    const chars = others.reduce((sum, { sealed }) => sum + sealed.length, 0) + charsOf(values.values())
    const before = rows.reduce((sum, { sealed }) => sum + sealed.length, 0)
    const count = others.length + values.size
    if (count <= Math.max(SECRET_LIMITS.count, rows.length) && chars <= Math.max(MAX_SEALED, before)) return
    throw new ParleyError(
      'too_large',
      `A user has at most ${SECRET_LIMITS.count} named secrets, with at most ${MAX_SEALED} characters together in their sealed form.`,
    )
  }

  return {
    list: async (user) => (await store.list(user)).map(itemOf),

    async create(user, secret) {
      await expectNoTwin(user, secret.name)
      await expectRoom(user, new Map([[secret.name, secret.value]]))
      if (!(await store.create(user, sealed(secret)))) throw taken(secret.name)
      return { isMasked: isMaskable(secret.value) }
    },

    async update(user, name, to) {
      if (to.name !== name) await expectNoTwin(user, to.name, name)
      const outcome = await store.rename(user, name, to)
      if (outcome === 'unknown') throw unknown(name)
      if (outcome === 'taken') throw taken(to.name)
    },

    async put(user, { name, value, description }) {
      if (!WIRE_NAME.test(name) || isReservedSecretName(name)) throw badName()
      await expectNoTwin(user, name)
      await expectRoom(user, new Map([[name, value]]))
      const kept = description === undefined ? ((await store.get(user, name))?.description ?? null) : description
      await store.put(user, sealed({ name, value, description: kept }))
      return { name, description: kept }
    },

    async delete(user, name) {
      if (!(await store.delete(user, name))) throw unknown(name)
    },

    value: async (user, name) => {
      expectSecretName(name)
      return cipher.open((await found(user, name)).sealed)
    },

    async expectStorable(user, entries) {
      const names = new Set((await store.list(user)).map(({ name }) => name))
      for (const [name, entry] of Object.entries(entries)) if (entry === null) names.delete(name)
      for (const [name, entry] of Object.entries(entries)) {
        if (valueIn(entry) === undefined) continue
        refuseTwin(name, names)
        names.add(name)
      }
      const given = Object.entries(entries).flatMap(([name, entry]): [string, string][] => {
        const value = entry === null ? undefined : valueIn(entry)
        return value === undefined ? [] : [[name, value]]
      })
      await expectRoom(user, new Map(given))
    },

    async store(user, entries) {
      for (const [name, entry] of Object.entries(entries)) {
        if (entry === null) {
          await store.delete(user, name)
          continue
        }
        const description = typeof entry === 'string' ? undefined : entry.description
        const old = await store.get(user, name)
        const described = description === undefined ? (old?.description ?? null) : description
        const given = valueIn(entry)
        if (given !== undefined) {
          await store.put(user, sealed({ name, value: given, description: described }))
        } else if (old !== null && described !== old.description) {
          await store.rename(user, name, { name, description: described })
        }
      }
    },

    version: (user) => store.version(user),

    rows: (user) => store.list(user),
  }
}

type Entry = NonNullable<UserSecrets['custom_secrets']>[string]

const charsOf = (texts: Iterable<string>): number => Array.from(texts).reduce((sum, { length }) => sum + length, 0)

/** Undefined when the entry keeps the stored value. */
function valueIn(entry: Entry): string | undefined {
  const { secret, value } = typeof entry === 'string' ? { secret: entry } : { ...entry }
  const given = (secret ?? value) as string | undefined
  return given === HIDDEN ? undefined : given
}

/** Commands look up secrets without regard to case, so two names must differ in more than case. Source: agent-core.md 12.8. */
function refuseTwin(name: string, names: Iterable<string>): void {
  const lower = name.toLowerCase()
  for (const other of names) if (other !== name && other.toLowerCase() === lower) throw twin(name, other)
}

function twin(name: string, other: string): ParleyError {
  const message = `Secret ${name} differs from ${other} by nothing but upper and lower case. Choose another name, or change ${other}.`
  return new ParleyError('conflict', message, { details: { message } })
}

/** Each API has its own member for the message. Source: conversation-service.md 4.1. */
function unknown(name: string): ParleyError {
  const error = `Secret with ID ${name} not found`
  return new ParleyError('not_found', error, { details: { error } })
}

function taken(name: string): ParleyError {
  const message = `Secret ${name} already exists. Change its name or description with PUT /api/secrets/${name}, or delete it first.`
  return new ParleyError('conflict', message, { details: { message } })
}

/** @throws ParleyError `invalid_input` for a text that cannot be a name. */
export function expectSecretName(name: string): void {
  if (!SecretName.safeParse(name).success) throw badName()
}

const badName = (): ParleyError =>
  invalidInput(
    'A secret name starts with a letter, has letters, digits and underscores, at most 64, and is none that the system uses.',
    ['name'],
  )
