import type { Process } from '../workspace.ts'

/** The bytes that a program writes; they end with an error when its exit code means that they are incomplete. Disposing ends it. */
export type Output = AsyncDisposable & { readonly bytes: AsyncIterable<Uint8Array> }

export function outputOf(program: Process, isComplete: (exitCode: number | null) => boolean): Output {
  // Standard error is discarded, but must be read, so that the program does not block.
  const drained = program.stderr.pipeTo(new WritableStream()).catch(() => undefined)
  return {
    bytes: whole(program, isComplete),
    async [Symbol.asyncDispose]() {
      await program.kill('SIGKILL').catch(() => undefined)
      await program[Symbol.asyncDispose]()
      await drained
    },
  }
}

async function* whole(
  { stdout, exited }: Process,
  isComplete: (exitCode: number | null) => boolean,
): AsyncGenerator<Uint8Array> {
  yield* stdout as AsyncIterable<Uint8Array>
  const { exit_code } = await exited
  if (!isComplete(exit_code)) throw new Error(`the archive ended with exit code ${exit_code}`)
}
