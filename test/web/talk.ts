/** Conversations with a scripted model for the scenarios of the conversation page. */
import { type Page } from 'playwright-core'
import {
  startScriptedModel,
  type RequestView,
  type ScriptedAnswer,
  type ScriptedModel,
} from '../../packages/server/testing/scripted-model.ts'
import { tempDir } from '../../packages/server/testing/temp.ts'
import { until } from '../../packages/server/testing/until.ts'

type Caller = { call(method: string, path: string, body?: unknown): Promise<{ status: number; body: any }> }

/** Answers by the last message of the user. */
type Answers = (text: string, view: RequestView) => ScriptedAnswer | Promise<ScriptedAnswer>

/** A model whose answers a scenario may replace. */
export type Talk = AsyncDisposable & {
  readonly model: ScriptedModel
  /** Directory of the conversations. */
  readonly directory: string
  answers: Answers
}

export async function startTalk(): Promise<Talk> {
  const talk = { answers: (() => ({ text: 'Hello.' })) as Answers }
  await using stack = new AsyncDisposableStack()
  const directory = stack.use(await tempDir()).path
  const model = stack.use(await startScriptedModel({ respond: ({ view }) => talk.answers(view.lastUserText, view) }))
  const open = stack.move()
  return Object.assign(talk, { model, directory, [Symbol.asyncDispose]: () => open.disposeAsync() })
}

/** Creates a conversation; resolves to its id. */
export async function startConversation(
  server: Caller,
  { model, directory }: Talk,
  members: Record<string, unknown> = {},
): Promise<string> {
  const { status, body } = await server.call('POST', '/api/conversations', {
    workspace: { kind: 'LocalWorkspace', working_dir: directory },
    agent: {
      kind: 'Agent',
      llm: {
        model: 'openai/scripted',
        base_url: `${model.url}/v1`,
        api_key: 'scripted',
        usage_id: 'agent',
        stream: true,
      },
      tools: [{ name: 'terminal' }, { name: 'file_editor' }],
    },
    ...members,
  })
  if (status >= 300) throw new Error(`conversation not created: ${JSON.stringify(body)}`)
  return body.id
}

/** Sends a message over the API and waits for a status. */
export async function say(server: Caller, id: string, text: string, status: string): Promise<void> {
  await server.call('POST', `/api/conversations/${id}/events`, { content: [{ type: 'text', text }], run: true })
  await until(async () => (await server.call('GET', `/api/conversations/${id}`)).body.execution_status === status)
}

/** Texts of the stored messages of the agent. */
export async function agentTexts(server: Caller, id: string): Promise<string[]> {
  const { body } = await server.call('GET', `/api/conversations/${id}/events/search?kind=MessageEvent&source=agent`)
  return body.items.map((event: any) => event.llm_message.content.map(({ text }: any) => text).join(''))
}

/** Writes a message in the page and sends it with Enter. */
export async function write(page: Page, text: string): Promise<void> {
  const field = page.getByRole('textbox', { name: 'Message' })
  await field.fill(text)
  await field.press('Enter')
}

/** The `seq` of every row in the page, which has each at most once. */
export const shownSeqs = (page: Page): Promise<string[]> =>
  page.locator('.row[data-seq]').evaluateAll((rows) => rows.map((row) => row.getAttribute('data-seq') ?? ''))
