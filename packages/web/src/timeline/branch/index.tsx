/** The dialogs about branches, loaded when the first one is opened. */
import { EditDialog } from './edit.tsx'
import { ForkDialog } from './fork.tsx'
import { GoBackDialog } from './go-back.tsx'

export type BranchAction = 'back' | 'fork' | 'edit'

const DIALOGS = { back: GoBackDialog, fork: ForkDialog, edit: EditDialog }

/** @param seq the event that the action is about */
export function BranchDialog({ action, seq, onClose }: { action: BranchAction; seq: number; onClose: () => void }) {
  const Content = DIALOGS[action]
  return <Content seq={seq} onClose={onClose} />
}
