/** Conversations with skills and plugins on a real server: files of a project and of a home, and a scripted model. */
import { mkdir, writeFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import type { ModelRequest, ScriptedAnswer } from './scripted-model.ts'
import { startRunning, type Loose, type Running } from './restartable-server.ts'

/** One call, written into a message: `call invoke_skill {"name":"x"}`. Without one, the turn ends. */
export function obey({ view, body }: ModelRequest): ScriptedAnswer {
  if (view.tools.length === 0) return { text: 'a title' }
  const calls = [...view.lastUserText.matchAll(/^call (\w+) (\{.*\})$/gm)]
  const { messages } = body as { messages: { role: string }[] }
  if (calls.length === 0 || messages.at(-1)?.role === 'tool') return { text: 'done' }
  return {
    toolCalls: calls.map(([, name, args]) => ({
      name: name!,
      arguments: JSON.parse(args!) as Record<string, unknown>,
    })),
  }
}

export type World = Running & {
  /** Writes files below the directory of the test. */
  put(files: Record<string, string>): Promise<void>
  /** Begins in this folder, says something, and waits for the end. */
  talk(folder: string, text: string, members?: Record<string, Loose>): Promise<string>
  /** Starts; the answer as it came. */
  begin(folder: string, members?: Record<string, Loose>): ReturnType<Running['call']>
  tell(id: string, text: string): Promise<void>
}

export async function openWorld(env: Record<string, string> = {}): Promise<World> {
  const running = await startRunning(obey, env)
  const resting = ['finished', 'error', 'stuck', 'paused', 'waiting_for_confirmation']
  const world: World = Object.assign(running, {
    async put(files: Record<string, string>) {
      for (const [path, text] of Object.entries(files)) {
        await mkdir(dirname(running.file(path)), { recursive: true })
        await writeFile(running.file(path), text)
      }
    },
    begin: (folder: string, { agent = {}, ...members }: Record<string, Loose> = {}) =>
      running.call('POST', '/api/conversations', {
        workspace: { working_dir: running.file(folder) },
        agent: {
          kind: 'Agent',
          llm: { model: 'openai/scripted', base_url: `${running.model.url}/v1`, api_key: 'k', num_retries: 0 },
          tools: [{ name: 'terminal' }, { name: 'file_editor' }],
          ...agent,
        },
        autotitle: false,
        ...members,
      }),
    async talk(folder: string, text: string, members: Record<string, Loose> = {}) {
      const { status, body, text: raw } = await world.begin(folder, members)
      if (status !== 201) throw new Error(`the start was refused with ${status}: ${raw}`)
      await world.tell(body.id, text)
      return body.id as string
    },
    async tell(id: string, text: string) {
      await running.say(id, text)
      await running.until(id, ...resting)
    },
  })
  return world
}

/** The system prompt of the newest request. */
export const promptOf = (world: World): string => world.model.requests.at(-1)!.text

export const messagesOf = (events: Loose[]): Loose[] =>
  events.filter(({ kind, source }) => kind === 'MessageEvent' && source === 'user')
