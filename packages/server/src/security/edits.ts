/** Files that a call writes by itself, without a shell. Pure. */
import type { Action } from '@parley/protocol'

/** Paths; none for actions that write nothing, or where is not known. */
export function writtenBy(action: Action): readonly string[] {
  switch (action.kind) {
    case 'FileEditorAction':
    case 'PlanningFileEditorAction':
      return 'command' in action && action.command !== 'view' && typeof action.path === 'string' ? [action.path] : []
    case 'EditAction':
    case 'WriteFileAction':
      return 'file_path' in action && typeof action.file_path === 'string' ? [action.file_path] : []
    case 'ApplyPatchAction':
      return 'patch' in action && typeof action.patch === 'string' ? patched(action.patch) : []
    default:
      return []
  }
}

/** The files that a patch names, also where a file is moved to. */
const patched = (patch: string): string[] =>
  [...patch.matchAll(/^\*\*\* (?:(?:Add|Delete|Update) File|Move to): *(.*?) *\r?$/gm)].map(([, path]) => path!)
