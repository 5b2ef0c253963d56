/** The server's handle of a process with open pipes. */
import { ParleyError } from '@parley/protocol'
import type { RunnerClient } from './runner-client.ts'
import type { RunnerLink } from './runner-link.ts'
import type { OutputStream, SpawnAnswer } from './runner/ipc/protocol.ts'
import type { Process } from './workspace.ts'

/** Bytes of unread output after which the program is paused. */
const HIGH_WATER_BYTES = 256 * 1024
/** Milliseconds between closing the input, SIGTERM and SIGKILL. */
const GRACE_MS = 1_000

/** Attaches to a process whose start was just answered. Must run before the next frame is read. */
export function attachProcess({ process, pid }: SpawnAnswer, link: RunnerLink, client: RunnerClient): Process {
  const never = new AbortController().signal
  const exit = Promise.withResolvers<{ exit_code: number | null; signal: string | null }>()
  let isOver = false
  const out = outputStream('stdout')
  const err = outputStream('stderr')
  const streams = { stdout: out, stderr: err }

  function outputStream(name: OutputStream) {
    let controller: ReadableStreamDefaultController<Uint8Array> | null = null
    let isPaused = false
    const flow = (pause: boolean) => {
      if (isPaused === pause) return
      isPaused = pause
      link.send({ op: 'flow', process, stream: name, isPaused: pause })
    }
    const strategy = new ByteLengthQueuingStrategy({ highWaterMark: HIGH_WATER_BYTES })
    const stream = new ReadableStream<Uint8Array>(
      {
        start: (given) => void (controller = given),
        pull: () => flow(false),
        cancel: () => {
          controller = null
          flow(false)
        },
      },
      strategy,
    )
    return {
      stream,
      push(data: Buffer) {
        controller?.enqueue(new Uint8Array(data))
        if (controller !== null && (controller.desiredSize ?? 0) <= 0) flow(true)
      },
      end() {
        controller?.close()
        controller = null
      },
    }
  }

  link.listen(process, {
    onOutput: (stream, data) => streams[stream].push(data),
    onEnd: (stream) => streams[stream].end(),
    onExit: ({ exit_code, signal }) => {
      isOver = true
      exit.resolve({ exit_code, signal })
    },
    onLost: () => {
      isOver = true
      out.end()
      err.end()
      exit.resolve({ exit_code: null, signal: null })
    },
  })

  const kill = async (signal: NodeJS.Signals) => {
    if (!isOver) await client.ask({ op: 'signal', process, signal }, never)
  }
  const input = async (data: string | null) => {
    if (isOver && data !== null) throw new ParleyError('unavailable', 'the program has ended')
    if (!isOver) await link.ask({ op: 'input', process, data }, never)
  }
  const stdin = new WritableStream<Uint8Array>({
    write: (chunk) => input(Buffer.from(chunk).toString('base64')),
    close: () => input(null),
    abort: () => input(null),
  })

  return {
    pid,
    stdin,
    stdout: out.stream,
    stderr: err.stream,
    exited: exit.promise,
    kill,
    async [Symbol.asyncDispose]() {
      if (isOver) return
      await input(null).catch(() => undefined)
      const killer = setTimeout(() => {
        kill('SIGTERM').catch(() => undefined)
        final = setTimeout(() => void kill('SIGKILL').catch(() => undefined), GRACE_MS)
      }, GRACE_MS)
      let final: NodeJS.Timeout | null = null
      await exit.promise
      clearTimeout(killer)
      if (final !== null) clearTimeout(final)
    },
  }
}
