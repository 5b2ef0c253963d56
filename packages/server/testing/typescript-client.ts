/** The published TypeScript client with a started server and an instructed model. */
import type { ConversationEvent, RemoteConversation as Remote } from '@openhands/typescript-client'
import { llmRecord } from './model-formats/configs.ts'
import type { ScriptedModel } from './scripted-model.ts'
import { KEY, startTestServer, type TestServer } from './server.ts'
import { startInstructedModel } from './instructed-model.ts'

// In Node the client reads the browser's WebSocket once, when it is loaded; other tests of this thread must not see one.
Object.assign(globalThis, { window: { WebSocket } })
export const client = await import('@openhands/typescript-client')
export const clients = await import('@openhands/typescript-client/clients')
Reflect.deleteProperty(globalThis, 'window')

/** Untyped JSON of an event from the socket. */
export type Frame = ReturnType<typeof JSON.parse>

export type Talk = AsyncDisposable & {
  readonly conversation: Remote
  /** Every frame of the socket so far, in order. */
  readonly frames: readonly Frame[]
  /** Errors that the client reported; none with a correct server. */
  readonly errors: readonly Error[]
  /** The first frame that satisfies `holds`, among those that no earlier call has read. */
  next(holds: (frame: Frame) => boolean): Promise<Frame>
  /** The full state after the end of a run. */
  rested(): Promise<Frame>
}

export type Bench = AsyncDisposable & {
  readonly server: TestServer
  readonly model: ScriptedModel
  readonly workingDir: string
  readonly options: { host: string; apiKey: string }
  agent(members?: Record<string, unknown>): InstanceType<typeof client.Agent>
  /** A started conversation with its socket open. */
  talk(members?: Record<string, unknown>): Promise<Talk>
  /** The same for an existing conversation of the client. */
  listen(make: (options: Listening) => Remote | Promise<Remote>): Promise<Talk>
}

export type Listening = { callback: (event: unknown) => void; onError: (error: Error) => void }

/** Starts server and model. Disposing it stops both. */
export async function startBench(env: Record<string, string> = {}): Promise<Bench> {
  await using stack = new AsyncDisposableStack()
  const model = stack.use(await startInstructedModel())
  const server = stack.use(await startTestServer(env))
  const options = { host: server.url, apiKey: KEY }
  const workingDir = server.dir.file('work')
  const agent: Bench['agent'] = (members = {}) =>
    new client.Agent({ llm: llmRecord('chat', model.url), tools: [{ name: 'terminal' }], ...members } as never)

  async function listen(make: (options: Listening) => Remote | Promise<Remote>): Promise<Talk> {
    const frames: Frame[] = []
    const errors: Error[] = []
    let seen = 0
    let wake = Promise.withResolvers<void>()
    const conversation = await make({
      callback: (event) => {
        frames.push(event)
        wake.resolve()
        wake = Promise.withResolvers()
      },
      onError: (error) => errors.push(error),
    })
    const next: Talk['next'] = async (holds) => {
      for (;;) {
        while (seen < frames.length) if (holds(frames[seen++])) return frames[seen - 1]
        await wake.promise
      }
    }
    await conversation.startWebSocketClient()
    await next(isSnapshot)
    return {
      conversation,
      frames,
      errors,
      next,
      rested: () => next((frame) => isSnapshot(frame) && frame.value.execution_status !== 'running'),
      [Symbol.asyncDispose]: () => conversation.close(),
    }
  }

  const owned = stack.move()
  return {
    server,
    model,
    workingDir,
    options,
    agent,
    listen,
    talk: (members) =>
      listen(async (listening) => {
        const workspace = new client.RemoteWorkspace({ ...options, workingDir })
        const conversation = new client.RemoteConversation(agent(members), workspace, listening as never)
        await conversation.start()
        return conversation
      }),
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  }
}

export const isSnapshot = (frame: Frame): boolean =>
  frame.kind === 'ConversationStateUpdateEvent' && frame.key === 'full_state'

export const isState = (key: string, value: unknown) => (frame: Frame) =>
  frame.kind === 'ConversationStateUpdateEvent' && frame.key === key && frame.value === value

export type { ConversationEvent }
