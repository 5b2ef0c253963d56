/** The model of the sequences: each answer calls tools with tags of its own, some repeat the ids of earlier answers. */
import { join } from 'node:path'
import type { ModelRequest, ScriptedAnswer, ScriptedToolCall } from '../../../packages/server/testing/scripted-model.ts'
import { random } from './random.ts'

/** A word that is the value of a secret, so that every stored form of it is masked. */
export const SECRET = 'harvest'

/** A call as the model wrote it. `tool`: `file_editor` writes `note` into the file `path`. */
export type Planned = { tool: string; note: string; path: string | null }

export type SequenceModel = {
  respond: (request: ModelRequest) => ScriptedAnswer
  /** The calls of one sequence, by tag. */
  plannedBy(seed: number): ReadonlyMap<string, Planned>
  forget(seed: number): void
}

/** Beginning of the tags of a sequence. */
export const tagsOf = (seed: number): string => `s${seed}-`

export const modelName = (seed: number): string => `openai/seed-${seed}`

/** In every third sequence the model has a helper, to which it gives parts of its work. */
export const hasHelper = (seed: number): boolean => seed % 3 === 0

/** Some model servers give every response the same id, also in sub-agents, and number the calls of each response from 1. */
const repeatsIds = (seed: number): boolean => seed % 2 === 0

const idOf = (seed: number, at: number): { id?: string } => (repeatsIds(seed) ? { id: `call_${at + 1}` } : {})

/** Model answers of one sequence; then the model only ends turns. */
const MOST_ANSWERS = 12

type Author = { pick: (below: number) => number; planned: Map<string, Planned>; answers: number }

/** @param folderOf the directory of the conversations of a sequence */
export function sequenceModel(folderOf: (seed: number) => string): SequenceModel {
  const authors = new Map<number, Author>()

  function authorOf(seed: number): Author {
    const known = authors.get(seed)
    if (known !== undefined) return known
    const author: Author = { pick: random(seed + 0x5eed), planned: new Map(), answers: 0 }
    authors.set(seed, author)
    return author
  }

  function call(seed: number, { pick, planned }: Author, at: number, rated: boolean): ScriptedToolCall {
    const tag = `${tagsOf(seed)}${planned.size}`
    const note = pick(4) === 0 ? `a ${SECRET} for ${tag}` : `plain ${tag}`
    const tool = ['note_down', 'note_down', 'hold', 'hold', 'file_editor'][pick(5)]!
    const path = tool === 'file_editor' ? join(folderOf(seed), `${tag}.txt`) : null
    planned.set(tag, { tool, note, path })
    const risk = rated ? { security_risk: pick(2) === 0 ? 'HIGH' : 'LOW' } : {}
    const args = path === null ? { tag, note } : { command: 'create', path, file_text: note }
    return { ...idOf(seed, at), name: tool, arguments: { ...risk, ...args } }
  }

  return {
    plannedBy: (seed) => authorOf(seed).planned,
    forget: (seed) => void authors.delete(seed),
    respond({ body, text }) {
      const seed = Number(/^seed-(\d+)$/.exec(String(body['model']))?.[1])
      if (!Number.isInteger(seed)) return { status: 400, error: 'this model answers sequences' }
      const author = authorOf(seed)
      const { pick } = author
      author.answers += 1
      const id = repeatsIds(seed) ? { id: '1' } : {}
      const rated = text.includes('security_risk')
      const isHelper = firstPrompt(body).includes(HELPER_PROMPT)
      // An end now and then, so that turns end and sub-agents report.
      if (pick(hasHelper(seed) ? 8 : 5) === 0 || author.answers > MOST_ANSWERS) return { ...id, text: 'that is all' }
      const tasks = hasHelper(seed) && !isHelper && pick(3) > 0 ? 1 + pick(2) : 0
      // Tasks come last and mostly alone: what follows a long call in its batch begins at a time that is not known exactly.
      const calls = tasks > 0 && pick(3) > 0 ? 0 : 1 + pick(3)
      return {
        ...id,
        toolCalls: [
          ...Array.from({ length: calls }, (_, at) => call(seed, author, at, rated)),
          ...Array.from({ length: tasks }, (_, at) => task(idOf(seed, calls + at), rated)),
        ],
      }
    },
  }
}

/** Beginning of the work of a helper. */
const HELPER_PROMPT = '[helper]'

function task(id: { id?: string }, rated: boolean): ScriptedToolCall {
  const risk = rated ? { security_risk: 'LOW' } : {}
  const args = { ...risk, prompt: `${HELPER_PROMPT} do your part`, subagent_type: 'helper' }
  return { ...id, name: 'task', arguments: args }
}

function firstPrompt(body: Record<string, unknown>): string {
  const messages = (body['messages'] ?? []) as { role: string; content: unknown }[]
  return JSON.stringify(messages.find(({ role }) => role === 'user')?.content ?? '')
}
