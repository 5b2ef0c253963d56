import { randomUUID } from 'node:crypto'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { setImmediate as nextTurn } from 'node:timers/promises'
import {
  EMPTY_STATE,
  ParleyError,
  under,
  type ConversationId,
  type ConversationState,
  type Draft,
  type PluginSource,
  type ReplayProgress,
  type SecurityAnalyzer,
} from '@parley/protocol'
import { expectHookTools } from '../../agent/index.ts'
import type { ConversationFile, ConversationRow, NodeNumber, PlaceId, Storage } from '../../storage/index.ts'
import type { Cipher } from '../../secrets/index.ts'
import type { Actor, StartRequest } from '../conversations.ts'
import { statusChanged } from '../drafts.ts'
import { notification } from '../record/notify.ts'
import type { AttachedPlugin, ConversationRecord, RepositoryChoice } from '../record/record.ts'
import { writeCachedLog } from '../log/cached-log.ts'
import { stamp, type Stamps } from '../log/stamp.ts'
import { columnStatus, wantsOwner } from '../record/start-status.ts'
import { expectSecrets } from '../record/changes.ts'
import { recordingFile, type RecordedReplay } from '../record/recordings.ts'

/** Default limit of iterations of one run. Source: interface.md, Limits. */
const DEFAULT_MAX_ITERATIONS = 500

export type StartDeps = {
  storage: Storage
  /** The node that owns new conversations. */
  node: NodeNumber
  /** The place of new conversations with a local workspace; null: the store is not shared. */
  place: PlaceId | null
  stamps: Stamps
  /** Seals the files of a conversation. */
  cipher: Pick<Cipher, 'seal' | 'open'>
  writeRecord: (record: ConversationRecord) => string
  /** The record with references to the model key of the server in place of the key itself. */
  referenced: (record: ConversationRecord) => ConversationRecord
  /** Parent of the working directories of conversations that name none. */
  workspacesDir: string
  /** Parent of the folders of worktrees. */
  worktreesDir: string
  /** Returns a conversation's own folder, outside its workspace. */
  folderOf: (id: ConversationId) => string
  /** The persistence directory that clients are shown; null: in memory only. Source: interface.md, ConversationInfo. */
  persistenceDir: string | null
  /** True while there is a webhook target, so that notifications are drafted. */
  notifies: () => boolean
}

export type Started = { row: ConversationRow; record: ConversationRecord; state: ConversationState; created: boolean }

/**
 * The request as it is stored: its analyzer's secrets encrypted.
 * @throws ParleyError `invalid_input` for hooks that name tools they cannot have, and for an analyzer that cannot be opened.
 */
export async function accepted(
  request: StartRequest,
  acceptAnalyzer: (requested: SecurityAnalyzer) => Promise<SecurityAnalyzer>,
): Promise<StartRequest> {
  under(['hook_config'], () => expectHookTools(request.hook_config))
  const { security_analyzer: analyzer } = request
  if (analyzer === null || analyzer === undefined) return request
  return { ...request, security_analyzer: await under(['security_analyzer'], () => acceptAnalyzer(analyzer)) }
}

/**
 * Checks that a new conversation gets no files of an earlier one: folders are named after ids, and those of an earlier version, of a store
 * in memory or of a copied directory may be there without a record whose they are.
 * @throws ParleyError `conflict` when there are files of another user, or of an unknown one.
 */
export async function expectNoForeignFiles(
  { storage, workspacesDir, worktreesDir }: StartDeps,
  id: ConversationId,
  actor: Actor,
): Promise<void> {
  const left = [workspacesDir, worktreesDir].map((parent) => join(parent, id)).find((path) => existsSync(path))
  if (left === undefined || (await storage.conversations.ownerOf(id)) === actor.user) return
  throw new ParleyError(
    'conflict',
    `Files of an earlier conversation with id ${id} exist, and they are not known to be yours. Choose another id.`,
  )
}

/**
 * Makes a conversation durable: record, settings and the first message in one transaction; the phases of the start follow.
 * An identical request of the same user returns the existing conversation (F63).
 * @throws ParleyError `conflict` when the id belongs to another request, `too_large` for too many secrets.
 */
export async function create(
  deps: StartDeps,
  request: StartRequest,
  actor: Actor,
): Promise<Started | { existing: ConversationId }> {
  const id = request.conversation_id ?? (randomUUID() as ConversationId)
  // The request, which may have a message of many megabytes, was read and hashed in this turn.
  await nextTurn()
  const own = deps.referenced(recordOf(request, join(deps.workspacesDir, id)))
  expectSecrets(own, null)
  const recording = request.replay ? recordingFile(request.replay.recording, deps.cipher) : null
  const record: ConversationRecord = {
    ...own,
    persistence_dir: deps.persistenceDir,
    replay: replayOf(request, recording),
  }
  const at = deps.stamps.now().toISOString()
  const { events, state } = stamp(EMPTY_STATE, opening(request), deps.stamps)
  const row: ConversationRow = {
    id,
    owner: actor.user,
    created_at: at,
    updated_at: at,
    seq: state.seq,
    epoch: 0,
    node: deps.node,
    place: placeOf(record, deps),
    status: columnStatus(state, record),
    parent_conversation_id: record.parent_conversation_id,
    record: deps.writeRecord(record),
  }
  const outbox = deps.notifies() ? [notification('conversation.started', { row, record, state })] : []
  const made = await deps.storage.conversations.create({
    ...row,
    wants_owner: wantsOwner(state),
    isSubAgent: record.sub_agent !== null,
    events,
    state: writeCachedLog({ state, view: null }),
    outbox,
    ...(recording === null ? {} : { files: [recording] }),
  })
  return made === 'created' ? { row, record, state, created: true } : { existing: id }
}

/** Files and processes on one machine cannot follow a conversation; those of another agent server can be reached from everywhere. */
export const placeOf = ({ workspace }: Pick<ConversationRecord, 'workspace'>, { place }: Pick<StartDeps, 'place'>) =>
  workspace.kind === 'LocalWorkspace' ? place : null

/** Checks that a stored conversation was created by this request, or is accepted for it. @throws ParleyError `conflict` otherwise. */
export function expectSame(
  row: ConversationRow | null,
  record: ConversationRecord | null,
  request: StartRequest,
  actor: Actor,
): void {
  const isSame = request.finds_existing === true || record?.fingerprint === request.fingerprint
  if (row?.owner === actor.user && isSame) return
  throw new ParleyError(
    'conflict',
    'This conversation_id is taken by another request. Send the same body again, or choose another id.',
  )
}

function recordOf(request: StartRequest, defaultDir: string): ConversationRecord {
  const first = request.initial_message
  return {
    workspace: request.remote ?? { kind: 'LocalWorkspace', working_dir: request.working_dir ?? defaultDir },
    agent: request.agent,
    persistence_dir: null,
    max_iterations: request.max_iterations ?? DEFAULT_MAX_ITERATIONS,
    max_budget_per_task: request.max_budget_per_task ?? null,
    stuck_detection: request.stuck_detection ?? true,
    title: request.title ?? null,
    tags: request.tags ?? {},
    autotitle: request.autotitle ?? true,
    title_llm_profile: request.title_llm_profile ?? null,
    client_tools: request.client_tools ?? [],
    parent_conversation_id: request.parent_conversation_id ?? null,
    forked_from_conversation_id: null,
    forked_from_event_id: null,
    launched_agent_profile: request.launched_agent_profile ?? null,
    fingerprint: request.fingerprint,
    pending_messages: first === null || first === undefined ? [] : [first.content],
    repository: repositoryOf(request),
    trigger: request.trigger ?? null,
    secrets: request.secrets ?? {},
    ...(request.agent_definitions === undefined ? {} : { agent_definitions: request.agent_definitions }),
    sub_agent: request.sub_agent ?? null,
    ...(request.correlation === undefined ? {} : { correlation: request.correlation }),
    ...pluginsOf(request),
    worktree: request.worktree ? { ...request.worktree, branch: null } : null,
    ...(request.checkpoints === undefined ? {} : { checkpoints: request.checkpoints }),
  }
}

function pluginsOf({
  plugins = [],
  installed_plugins: installed = [],
}: StartRequest): Pick<ConversationRecord, 'plugins'> {
  const isNamed = (source: PluginSource) =>
    plugins.some((own) => own.source === source.source && own.repo_path === source.repo_path)
  const all = [
    ...installed
      .filter((source) => !isNamed(source))
      .map((source) => ({ ...attached(source), is_installed: true as const })),
    ...plugins.map(attached),
  ]
  return all.length === 0 ? {} : { plugins: all }
}

const attached = (source: PluginSource): AttachedPlugin => ({
  ...source,
  name: null,
  root: null,
  resolved_ref: null,
})

function replayOf({ replay }: StartRequest, file: ConversationFile | null): RecordedReplay | null {
  if (file === null || replay === null || replay === undefined) return null
  return { file: file.name, stop_on_divergence: replay.stopOnDivergence }
}

function repositoryOf({ repository }: StartRequest): RepositoryChoice | null {
  if (repository === null || repository === undefined) return null
  return { ...repository, slug: null, token_variable: null, checked_out: null, is_set_up: false }
}

function opening(request: StartRequest): Draft[] {
  const drafts: Draft[] = [
    { kind: 'StartPhaseEvent', source: 'environment', phase: 'workspace', status: 'started', code: null, detail: null },
  ]
  const set = (key: 'confirmation_policy' | 'security_analyzer' | 'hook_config', value: unknown) => {
    if (value !== undefined && value !== null)
      drafts.push({ kind: 'StateChangedEvent', source: 'environment', key, value } as Draft)
  }
  set('confirmation_policy', request.confirmation_policy)
  set('security_analyzer', request.security_analyzer)
  set('hook_config', request.hook_config)
  if (request.replay !== null && request.replay !== undefined)
    drafts.push(replayStarts(request.replay.recording.turns.length))
  if (request.initial_message !== null && request.initial_message !== undefined) drafts.push(statusChanged('running'))
  return drafts
}

const replayStarts = (total: number): Draft => ({
  kind: 'StateChangedEvent',
  source: 'environment',
  key: 'replay',
  value: { position: 0, total, divergences: 0, first_divergence: null, noted: [] } satisfies ReplayProgress,
})
