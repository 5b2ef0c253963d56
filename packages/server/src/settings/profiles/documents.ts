/**
 * Profiles and connections in the store: one document each, secrets encrypted.
 *
 * Invariants
 *   P1. Rules between documents (names, limits, references) are checked in the transaction that changes them.
 *   P2. A profile with a connection holds no key and no address of its own; both come from the connection each time the profile
 *       is read.
 */
import { AgentProfile, LLM, ParleyError } from '@parley/protocol'
import { sealRecord, unsealRecord, type Cipher } from '../../secrets/index.ts'
import type { DocumentEdit, DocumentRow } from '../../storage/index.ts'

export const LLM_PROFILES = 'llm_profiles'
export const AGENT_PROFILES = 'agent_profiles'
export const CONNECTIONS = 'provider_connections'

/** Limit for LLM profiles and for agent profiles. Source: agent-server-wire.md 10.1. */
export const MAX_PROFILES = 50
export const MAX_CONNECTIONS = 64

/** A key and an address that several profiles share. */
export type Connection = {
  id: string
  display_name: string
  provider: string
  api_key: string
  base_url: string | null
  /** Epoch seconds. */
  created_at: number
  updated_at: number
}

/** What a document is read with. */
type Reading = Pick<Cipher, 'open' | 'referenced'>

export const sealed = (record: unknown, cipher: Pick<Cipher, 'seal' | 'referenced'>): string =>
  JSON.stringify(sealRecord(record, cipher))

const opened = ({ json }: Pick<DocumentRow, 'json'>, cipher: Reading): unknown => unsealRecord(JSON.parse(json), cipher)

/** @throws ParleyError `unavailable` when the server's key does not decrypt it. */
export const readLlm = (row: DocumentRow, cipher: Reading): LLM => LLM.parse(opened(row, cipher))
export const readConnection = (row: DocumentRow, cipher: Reading): Connection => opened(row, cipher) as Connection
export const readAgentProfile = (row: DocumentRow): AgentProfile => AgentProfile.parse(JSON.parse(row.json))

/** An LLM profile with the values of its connection. */
export type Bound = { llm: LLM; isBroken: boolean }

/** Adds a connection's values to a profile (P2). A profile without its connection is broken, unless it has a key of its own. */
export function bound(llm: LLM, connectionOf: (id: string) => Connection | null): Bound {
  const id = llm.provider_connection_id
  if (id === null) return { llm, isBroken: false }
  const connection = connectionOf(id)
  if (connection === null) return { llm, isBroken: true }
  return {
    llm: { ...llm, api_key: connection.api_key, base_url: connection.base_url ?? llm.base_url },
    isBroken: false,
  }
}

/** @throws ParleyError `conflict` when the limit is reached. */
export function expectRoom(documents: DocumentEdit, collection: string, limit: number, what: string): void {
  if (documents.list(collection).length >= limit)
    throw new ParleyError('conflict', `There are ${limit} ${what} already, which is the limit. Delete one first.`)
}

export const noProfile = (name: string, known: readonly string[]): ParleyError => {
  const others = known.length === 0 ? '' : `. Known are: ${known.join(', ')}`
  return new ParleyError('not_found', `Profile '${name}' not found${others}`)
}
