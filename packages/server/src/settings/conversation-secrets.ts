/** Secrets that belong to one conversation. Source: agent-core.md 7.1 to 7.3, F20; agent-server-wire.md 1.5, 8.2, 8.4. */
import {
  invalidInput,
  LLM,
  relocate,
  type RequestedSecrets,
  SecretName,
  type SecretSource,
  SecretValue,
  under,
} from '@parley/protocol'
import { HIDDEN, type Json, type JsonObject, type UserTokens } from '../secrets/index.ts'
import { openLookups, type LookupDeps } from './lookup.ts'
import { decrypted } from './settings.ts'
import { asJson } from './stored.ts'

type Sources = Readonly<Record<string, SecretSource>>

export interface ConversationSecrets {
  /**
   * The secrets of a request in their stored form. `tokens`: values may be tokens of this user; absent: they are taken as they are.
   * @throws ParleyError `invalid_input`, placed in the given map, for a name or value that a command cannot have, and for a host outside the allowed ones.
   */
  accept(given: RequestedSecrets, tokens?: UserTokens): Record<string, SecretSource>
  /** The secrets that the text of a command names as whole identifiers, looked up where necessary. Secrets without a value are omitted. */
  valuesFor(sources: Sources, text: string): Promise<Record<string, string>>
  /** A command with this text failed; values that were looked up for it are looked up again for the next command that names them. */
  refresh(sources: Sources, text: string): void
  /** All known values, for masking. */
  known(sources: Sources): string[]
  /** Names and descriptions for the model. */
  names(sources: Sources): { name: string; description: string | null }[]
}

export function openConversationSecrets(deps: LookupDeps): ConversationSecrets {
  const lookups = openLookups(deps)
  return {
    accept(given, tokens) {
      const sources = Object.fromEntries(Object.entries(given).map(([name, source]) => [name, sourceOf(source)]))
      const opened = tokens === undefined ? sources : openedSources(sources, tokens)
      const entries = Object.entries(opened as Record<string, SecretSource>)
      return Object.fromEntries(
        entries.map(([name, source]) => {
          expectName(name)
          if (source.kind === 'LookupSecret') return [name, under([name, 'url'], () => lookups.accept(name, source))]
          if (source.value !== null) expectValue(source.value, name, typeof given[name] !== 'string')
          return [name, source]
        }),
      )
    },

    async valuesFor(sources, text) {
      const values = await Promise.all(
        namedIn(text, sources).map(async ([name, source]) => {
          const value = source.kind === 'StaticSecret' ? source.value : await lookups.value(name, source)
          return value === null || value === '' ? [] : [[name, value] as const]
        }),
      )
      return Object.fromEntries(values.flat())
    },

    refresh(sources, text) {
      for (const [, source] of namedIn(text, sources)) if (source.kind === 'LookupSecret') lookups.refresh(source)
    },

    known: (sources) =>
      Object.values(sources).flatMap((source) => {
        if (source.kind === 'LookupSecret') return lookups.seen(source)
        return source.value === null ? [] : [source.value]
      }),

    names: (sources) => Object.entries(sources).map(([name, { description }]) => ({ name, description })),
  }
}

function namedIn(text: string, sources: Sources): [string, SecretSource][] {
  const words = new Set(text.match(/\w+/g))
  return Object.entries(sources).filter(([name]) => words.has(name))
}

/** Plain text is a static secret; an empty or masked one has no value. */
function sourceOf(source: RequestedSecrets[string]): SecretSource {
  if (typeof source !== 'string') return source
  const isSet = source.trim() !== '' && source !== HIDDEN
  return { kind: 'StaticSecret', value: isSet ? source : null, description: null }
}

const openedSources = (sources: Sources, tokens: UserTokens): Json | undefined =>
  relocate(
    // The record is made here; the map of the request is its only member.
    ([, name]) => (name === undefined ? [] : [name]),
    () => decrypted({ secrets: asJson(sources) }, tokens)['secrets'],
  )

function expectName(name: string): void {
  const read = SecretName.safeParse(name)
  if (read.success) return
  const why = read.error.issues[0]?.message ?? 'it is no name of a variable'
  throw invalidInput(`No command could have a secret called ${JSON.stringify(name)}: ${why}`, [name, '[key]'])
}

function expectValue(value: string, name: string, isMember: boolean): void {
  const read = SecretValue.safeParse(value)
  if (!read.success)
    throw invalidInput(`${name}: ${read.error.issues[0]?.message}`, isMember ? [name, 'value'] : [name])
}

/** The model with its encrypted secrets, which this server issued to the same user, decrypted. @throws ParleyError `invalid_input`. */
export function openedLlm(llm: LLM, tokens: UserTokens): LLM {
  return LLM.parse(decrypted(asJson(llm) as JsonObject, tokens))
}
