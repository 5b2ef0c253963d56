/** The question before a secret is deleted. */
import { useQueryClient } from '@tanstack/react-query'
import { deleteSecret, SECRETS_KEY } from '../../api/secrets.ts'
import { secrets as words } from '../../words/secrets.en.ts'
import { RemoveDialog } from './remove-dialog.tsx'

type RemoveProps = {
  readonly name: string
  readonly onClose: () => void
  readonly onDone: (note: string) => void
}

export function RemoveSecret({ name, onClose, onDone }: RemoveProps) {
  const client = useQueryClient()
  const remove = async (): Promise<void> => {
    await deleteSecret(name)
    await client.invalidateQueries({ queryKey: SECRETS_KEY })
    onDone(words.removed(name))
  }
  return <RemoveDialog title={words.removeTitle(name)} text={words.removeText} remove={remove} onClose={onClose} />
}
