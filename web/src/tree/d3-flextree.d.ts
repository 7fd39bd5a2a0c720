// The types of d3-flextree, which has none of its own: what the page uses of it.
declare module 'd3-flextree' {
  export interface FlexNode<T> {
    data: T;
    x: number;
    y: number;
    each: (visit: (node: FlexNode<T>) => void) => void;
  }

  export interface FlexLayout<T> {
    (tree: FlexNode<T>): FlexNode<T>;
    hierarchy: (data: T) => FlexNode<T>;
  }

  export function flextree<T>(options: {
    children?: (data: T) => readonly T[];
    nodeSize?: (node: FlexNode<T>) => [number, number];
    spacing?: number;
  }): FlexLayout<T>;
}
