/** What is shown of a file instead of its lines. */
import { changes as words } from '../../words/changes.en.ts'
import type { FileChange, FilePatch } from './data.ts'

export function PatchState({ file, patch }: { file: FileChange; patch: FilePatch | null }) {
  return <p className="changes-state">{sentenceOf(file, patch)}</p>
}

function sentenceOf({ oldPath }: FileChange, patch: FilePatch | null): string {
  if (patch === null) return words.loading
  const bytes = patch.bytes === null ? '' : words.bytes(patch.bytes)
  if (patch.isBinary) return words.binary(bytes)
  if (patch.patch === null) return words.large(bytes)
  return oldPath === null ? words.noText : words.onlyMoved
}
