import type { FileChange } from '../../workspace/index.ts'

/** Files that a report names. */
export const MAX_LISTED = 50

/** Text for the agent: the files that differ from the last checkpoint after the server was interrupted. */
export function changedFilesText(
  { files, count }: { files: readonly FileChange[]; count: number },
  hadOpenCalls: boolean,
): string {
  const lines = files.map(({ status, path }) => `- ${JSON.stringify(path)} (${status})`)
  if (count > files.length) lines.push(`- and ${count - files.length} more`)
  const cause = hadOpenCalls
    ? 'A call whose outcome is unknown may have changed them.'
    : 'Something that this conversation does not record has changed them.'
  return [
    'The server was interrupted. These files of the working directory differ from their last recorded state:',
    ...lines,
    `${cause} Read them before you rely on what is said about them above.`,
  ].join('\n')
}
