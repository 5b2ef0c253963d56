/**
 * The demo: an ordinary conversation in a directory of its own, whose model is a script and whose tools are real. Each user has their own. Source: docs/web-ui.md, The first minute.
 */
import { AgentBase, type ConversationId, newConversationId, ParleyError } from '@parley/protocol'
import type { Actor, Conversations } from '../conversation/index.ts'
import { DEMO_MODEL } from '../llm/index.ts'
import type { DocumentStore } from '../storage/index.ts'

type Started = { created: boolean; id: ConversationId }

export interface Demo {
  /** Starts a demo, or returns the one that has not ended. Requests of a user at the same time, at one node, start one. */
  start(actor: Actor): Promise<Started>
  /** Deletes the demo that was started last, with its files. @throws ParleyError `not_found` without one. */
  delete(actor: Actor): Promise<void>
  /** The demo that was started last; null: the user has none. */
  idOf(user: string): Promise<ConversationId | null>
}

export type DemoDeps = {
  conversations: Pick<Conversations, 'start' | 'progress' | 'delete'>
  documents: DocumentStore
}

/** One document of each user, which names the demo that was started last. */
const COLLECTION = 'demo'
const NAME = 'last'

const TITLE = 'Demo: an agent fixes a failing test'
const TASK = 'Set up the example project, then find out why its test fails and fix it.'
const ENDED: readonly string[] = ['finished', 'error', 'stuck', 'deleting']
/** More than the script has. */
const MAX_ITERATIONS = 20

export function openDemo({ conversations, documents }: DemoDeps): Demo {
  const idOf = async (user: string) => idIn(await documents.get(user, COLLECTION, NAME))
  const isOver = async (id: ConversationId, actor: Actor): Promise<boolean> => {
    try {
      const { status, execution_status } = await conversations.progress(id, actor, 'decide')
      return status === 'STOPPED' || ENDED.includes(execution_status)
    } catch (error) {
      if (error instanceof ParleyError && error.code === 'not_found') return true
      throw error
    }
  }
  const startNew = async (actor: Actor): Promise<Started> => {
    const last = await idOf(actor.user)
    if (last !== null && !(await isOver(last, actor))) return { created: false, id: last }
    const { info } = await conversations.start(requestOf(newConversationId()), actor)
    await documents.edit(actor.user, (edit) => edit.put(COLLECTION, NAME, JSON.stringify({ conversation_id: info.id })))
    return { created: true, id: info.id }
  }
  const starting = new Map<string, Promise<Started>>()
  return {
    idOf,
    async start(actor) {
      const running = starting.get(actor.user)
      if (running !== undefined) return { created: false, id: (await running).id }
      const started = startNew(actor).finally(() => starting.delete(actor.user))
      starting.set(actor.user, started)
      return started
    },
    async delete(actor) {
      const id = await idOf(actor.user)
      if (id === null) throw new ParleyError('not_found', 'There is no demo of yours. Start one with POST /api/demo.')
      try {
        await conversations.delete(id, actor)
      } catch (error) {
        // It may have been deleted as a conversation.
        if (!(error instanceof ParleyError && error.code === 'not_found')) throw error
      }
      await documents.edit(actor.user, (edit) => {
        if (idIn(edit.get(COLLECTION, NAME)) === id) edit.delete(COLLECTION, NAME)
      })
    },
  }
}

function idIn(row: { json: string } | null): ConversationId | null {
  return row === null ? null : (JSON.parse(row.json) as { conversation_id: ConversationId }).conversation_id
}

/** The change of the file is the one action that the script rates as a medium risk. */
const requestOf = (id: ConversationId): Parameters<Conversations['start']>[0] => ({
  conversation_id: id,
  agent: AgentBase.parse({
    kind: 'Agent',
    llm: { model: DEMO_MODEL, usage_id: 'agent', stream: true },
    tools: [{ name: 'terminal' }, { name: 'apply_patch' }],
    agent_context: { load_user_skills: false, load_project_skills: false },
  }),
  confirmation_policy: { kind: 'ConfirmRisky', threshold: 'MEDIUM', confirm_unknown: true },
  security_analyzer: { kind: 'LLMSecurityAnalyzer' },
  max_iterations: MAX_ITERATIONS,
  tags: { demo: 'true' },
  title: TITLE,
  autotitle: false,
  initial_message: { content: [{ type: 'text', text: TASK, cache_prompt: false }] },
  fingerprint: `demo ${id}`,
})
