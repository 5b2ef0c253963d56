/** Runs a shell that exits with 7 in a pseudo-terminal. Resolves with the exit code. @throws when no pseudo-terminal can be opened. */
export async function probeTerminal(): Promise<number> {
  const { spawn } = await import('@lydell/node-pty')
  const shell = spawn('sh', ['-c', 'exit 7'], { cols: 80, rows: 24 })
  return new Promise((resolve) => shell.onExit(({ exitCode }) => resolve(exitCode)))
}
