/**
 * Which node has a conversation. A root, which is a conversation with its sub-agents, has one owner.
 *
 * Invariants
 *   C1. A claim takes all conversations of a root, or none. Their rows are locked in one order, the root first.
 *   C2. A conversation of another node is taken only when that node does not hold its lease, which is asked after the rows are locked.
 *   C3. Each conversation that gets another owner gets a higher epoch with it, so that its earlier owner is refused.
 */
import type { ConversationId } from '@parley/protocol'
import type {
  CachedState,
  Claiming,
  ConversationRow,
  ConversationStore,
  Holder,
  OwnedRow,
} from '../contract/conversations.ts'
import type { NodeNumber, PlaceId } from '../contract/nodes.ts'
import type { Database, Sql } from './database.ts'
import { LIVE_SQL, liveAmong } from './liveness.ts'
import { COLUMNS } from './row-columns.ts'

/** What decides beside the rows whether a node may have a conversation. */
export type Claimant = {
  place: PlaceId
  /** False: the nodes of other places that seem to have ended may only be reconnecting. */
  mayTakeOver: () => boolean
}

const ROOT_SQL = 'SELECT coalesce(root, id) AS root FROM conversations WHERE id = $1'
const MEMBERS_SQL = `SELECT n, id, coalesce(root, id) AS root, node, place, wants_owner AS "wantsOwner" FROM conversations
  WHERE id = ANY($1::text[]) OR root = ANY($1::text[]) ORDER BY n FOR UPDATE`
/** The earlier nodes of this place: its data directory is locked by this process, so they have ended. */
const EARLIER_SQL = 'SELECT n FROM nodes WHERE $1 = ANY(places)'
const TAKE_SQL = `UPDATE conversations SET taken_from = coalesce(node, taken_from), node = $1, epoch = epoch + 1 WHERE n = ANY($2::bigint[])`
/** Roots that a node takes at once although others would get fewer. */
const LEAST_SHARE = 3
/**
 * Roots of conversations that should run and have no node, or one that has ended: at most the share of one of the live nodes. $1 the node, $2 its
 * place, $3 whether it may take over, $4 the limit. Rows that another node is claiming are left to it.
 */
const ORPHANS_SQL = `WITH ended AS MATERIALIZED (
    SELECT n FROM nodes WHERE n <> $1 AND ($2 = ANY(places) OR $3 AND n NOT IN (${LIVE_SQL}))
  ), wanting AS (
    SELECT coalesce(root, id) AS root FROM conversations WHERE wants_owner AND node IS NULL AND (place IS NULL OR place = $2)
    UNION SELECT coalesce(root, id) FROM conversations JOIN ended ON ended.n = node WHERE wants_owner AND (place IS NULL OR place = $2)
  )
  SELECT id FROM conversations WHERE id IN (SELECT root FROM wanting) AND (node IS NULL OR node = $1 OR node IN (SELECT n FROM ended))
  ORDER BY id LIMIT (SELECT least($4, greatest(${LEAST_SHARE}, ceil(count(*)::numeric / (SELECT greatest(1, count(*)) FROM (${LIVE_SQL}) live))))
    FROM wanting)
  FOR UPDATE SKIP LOCKED`
const WANTING_SQL = 'SELECT id FROM conversations WHERE wants_owner AND node = $1'
const HOLDER_SQL = `SELECT c.node, c.place, coalesce(n.url, '') AS url, c.node IS NOT NULL AND c.node IN (${LIVE_SQL}) AS "isLive"
  FROM conversations c LEFT JOIN nodes n ON n.n = c.node WHERE c.id = $1`
const RAISE_SQL = 'UPDATE conversations SET epoch = epoch + 1 WHERE id = $1 AND node = $2 RETURNING epoch'
const OWNED_SQL = `SELECT ${COLUMNS},
    s.seq AS state_seq, s.json AS state_json, coalesce(x.count, 0) AS crashes, b.backup_at AS restored_from
  FROM conversations c JOIN records r ON r.conversation = c.n LEFT JOIN states s ON s.conversation = c.n
    LEFT JOIN crashes x ON x.conversation = c.n LEFT JOIN restored_runs b ON b.conversation = c.n
  WHERE c.id = $1`
const RELEASE_MOVING_SQL = `UPDATE conversations SET node = NULL
  WHERE node = $1 AND place IS NULL AND coalesce(root, id) <> ALL($2::text[])`

type Member = { n: number; id: ConversationId; root: ConversationId; wantsOwner: boolean } & Pick<
  ConversationRow,
  'node' | 'place'
>

type Owning = Pick<ConversationStore, 'orphans' | 'wanting' | 'release' | 'claim' | 'holder' | 'own'>

export function postgresOwning(database: Database, claimant: Claimant): Owning {
  return {
    orphans: (by, limit) =>
      database.write(async (sql) => {
        const { place, mayTakeOver } = claimant
        const roots = await sql.all<{ id: ConversationId }>(ORPHANS_SQL, by, place, mayTakeOver(), limit)
        if (roots.length === 0) return []
        const ids = roots.map(({ id }) => id)
        const claims = await claimRoots(sql, ids, by, claimant)
        return claims.flatMap((claiming) => (claiming.kind === 'claimed' ? claiming.wanting : []))
      }),
    wanting: (by) =>
      database.read(async (sql) => (await sql.all<{ id: ConversationId }>(WANTING_SQL, by)).map(({ id }) => id)),
    release: (by, keeping) =>
      database.write(async (sql) => {
        if (keeping === undefined) await sql.run('UPDATE conversations SET node = NULL WHERE node = $1', by)
        else await sql.run(RELEASE_MOVING_SQL, by, keeping)
      }),
    claim: (id, by) => database.write((sql) => claimNow(sql, id, by, claimant)),
    holder: (id) => database.read(async (sql) => (await sql.get<Holder>(HOLDER_SQL, id)) ?? null),
    async own(id, by) {
      // Without a transaction around the two statements: what follows the first is read by the second, and other writers are refused in between.
      const raised = await database.read(async (sql) => {
        const row = await sql.get<{ epoch: number }>(RAISE_SQL, id, by)
        const owned = row === undefined ? null : await ownedRow(sql, id)
        return row === undefined || owned === null ? null : { ...owned, row: { ...owned.row, epoch: row.epoch } }
      })
      if (raised !== null) return { kind: 'owned', ...raised }
      return database.write(async (sql) => {
        const claiming = await claimNow(sql, id, by, claimant)
        if (claiming.kind !== 'claimed') return claiming
        const owned = await ownedRow(sql, id)
        return owned === null ? { kind: 'unknown' } : { kind: 'owned', ...owned }
      })
    },
  }
}

async function claimNow(sql: Sql, id: ConversationId, by: NodeNumber, claimant: Claimant): Promise<Claiming> {
  const found = await sql.get<{ root: ConversationId }>(ROOT_SQL, id)
  if (found === undefined) return { kind: 'unknown' }
  const [claiming] = await claimRoots(sql, [found.root], by, claimant)
  return claiming ?? { kind: 'unknown' }
}

/** Claims roots with the same few statements, whatever their number is. Returns what became of each root that exists. */
async function claimRoots(
  sql: Sql,
  roots: readonly ConversationId[],
  by: NodeNumber,
  { place, mayTakeOver }: Claimant,
): Promise<Claiming[]> {
  const members = await sql.all<Member>(MEMBERS_SQL, roots)
  const others = members.filter(({ node }) => node !== by)
  const nodes = new Set(others.flatMap(({ node }) => (node === null ? [] : [node])))
  for (const { n } of nodes.size === 0 ? [] : await sql.all<{ n: NodeNumber }>(EARLIER_SQL, place)) nodes.delete(n)
  const holders = mayTakeOver() ? await liveAmong(sql, [...nodes]) : nodes
  const claims = [...Map.groupBy(members, ({ root }) => root).values()].map((of) => claimOf(of, { by, place, holders }))
  const taken = claims.flatMap(({ taken: of }) => of)
  if (taken.length > 0) await sql.run(TAKE_SQL, by, taken)
  return claims.map(({ claiming }) => claiming)
}

type Decisive = { by: NodeNumber; place: PlaceId; holders: ReadonlySet<NodeNumber> }

/** What becomes of one root (C1), and which rows get another owner. */
function claimOf(
  members: readonly Member[],
  { by, place, holders }: Decisive,
): { claiming: Claiming; taken: number[] } {
  const others = members.filter(({ node }) => node !== by)
  for (const { place: at } of others)
    if (at !== null && at !== place) return { claiming: { kind: 'away', place: at }, taken: [] }
  for (const { node } of others)
    if (node !== null && holders.has(node)) return { claiming: { kind: 'held', by: node }, taken: [] }
  const wanting = others.filter(({ wantsOwner }) => wantsOwner).map(({ id }) => id)
  return { claiming: { kind: 'claimed', wanting }, taken: others.map(({ n }) => n) }
}

/** Null for a conversation that is deleted meanwhile. */
async function ownedRow(sql: Sql, id: ConversationId): Promise<OwnedRow | null> {
  type Owned = ConversationRow & {
    state_seq: number | null
    state_json: string | null
    crashes: number
    restored_from: string | null
  }
  const owned = await sql.get<Owned>(OWNED_SQL, id)
  if (owned === undefined) return null
  const { state_seq: seq, state_json: json, crashes, restored_from: restoredFrom, ...row } = owned
  const state: CachedState | null = seq === null || json === null ? null : { seq, json }
  return { row, state, crashes, restoredFrom }
}
