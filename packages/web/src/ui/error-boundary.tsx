/** Shows a failure of a page in its place. A page that cannot be loaded usually belongs to an older build than the server's. */
import { Component, type ReactNode } from 'react'
import { en } from '../words/en.ts'
import { messageOf } from '../api/errors.ts'
import { Button } from './button.tsx'

type Props = {
  /** A change of it shows the children again. */
  readonly of: string
  readonly children: ReactNode
}

export class ErrorBoundary extends Component<Props, { error: unknown; of: string }> {
  override state = { error: null as unknown, of: this.props.of }

  static getDerivedStateFromError(error: unknown): { error: unknown } {
    return { error }
  }

  static getDerivedStateFromProps({ of }: Props, state: { of: string }): { error: null; of: string } | null {
    return of === state.of ? null : { error: null, of }
  }

  override render(): ReactNode {
    if (this.state.error === null) return this.props.children
    return (
      <div className="page" role="alert">
        <h1>{en.failed.title}</h1>
        <p className="page-lead">{messageOf(this.state.error)}</p>
        <p className="page-lead">{en.failed.update}</p>
        <p className="page-actions">
          <Button onClick={() => location.reload()}>{en.failed.reload}</Button>
        </p>
      </div>
    )
  }
}
